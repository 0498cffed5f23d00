"""Formats of the Compute API: times, links, addresses, and identifiers made for users."""
