"""The engine: what an execution does next, decided purely."""
