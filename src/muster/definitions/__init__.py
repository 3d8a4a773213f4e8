"""Definitions: any shape into one model, checked, kept in versions, drawn."""
