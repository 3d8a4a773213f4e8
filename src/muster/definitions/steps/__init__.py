"""What nodes do, in sentences for people."""
