"""The Placement REST API."""
