"""Schemas of servers."""
