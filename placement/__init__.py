"""Placement: who has what, who took it, and where a request fits."""
