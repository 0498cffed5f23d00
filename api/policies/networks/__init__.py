"""Default policies of what concerns networks."""
