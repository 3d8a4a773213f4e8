"""The HTTP edge: parse, call one use case, render."""
