"""Muster: an event-driven workflow platform."""

__version__ = "0.1.0"
