"""Formats of the Compute API: times, links, addresses, identifiers made for users, compression."""
