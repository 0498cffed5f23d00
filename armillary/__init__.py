"""Shared ground of all Armillary services."""
