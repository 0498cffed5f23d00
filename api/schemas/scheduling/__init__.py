"""Schemas of scheduling."""
