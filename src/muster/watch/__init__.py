"""Watching: what events mean for the runs that they belong to. What decides here is pure."""
