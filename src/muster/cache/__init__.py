"""Caches and locks: in this process, or in a Redis that all instances share."""
