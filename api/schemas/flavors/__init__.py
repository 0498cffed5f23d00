"""Schemas of flavors."""
