"""Handlers of the routes, one file per noun."""
