"""What Muster relies on, as checks that run on any database, bus and cache: its own tests, and `muster
conformance` on an operator's cluster."""
