"""Decisions: explanations, dry runs, allocations, zones."""
