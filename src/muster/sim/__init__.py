"""Deterministic simulation: the real code under virtual time, with scheduling and faults from a seed."""
