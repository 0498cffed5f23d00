"""Middleware of every request and response, one concern per file; ``app`` sets the order."""
