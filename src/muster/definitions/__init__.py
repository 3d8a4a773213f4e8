"""Definitions: five shapes into one model, checked before anything runs, drawn for people."""
