"""Small protocols for what decisions must not reach for themselves: time and identity."""
