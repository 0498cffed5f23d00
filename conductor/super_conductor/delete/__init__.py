"""Deletes: at any moment of an instance's life, reclaimed later, and what is purged with age."""
