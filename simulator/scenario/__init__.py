"""Scenarios: the file format, its schema, and its errors."""
