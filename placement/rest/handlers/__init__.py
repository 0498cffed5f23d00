"""Handlers and routes, one file per noun."""
