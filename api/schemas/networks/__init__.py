"""Schemas of what concerns networks."""
