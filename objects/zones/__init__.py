"""Zones on the wire: child zones, queries, answers and summaries."""
