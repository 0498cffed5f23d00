"""Middleware of every request and response, one concern per file; ``api.app`` sets the order."""
