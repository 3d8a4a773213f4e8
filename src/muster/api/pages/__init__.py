"""Pages that the server renders itself: no script, nothing from elsewhere."""
