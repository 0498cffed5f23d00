"""Filters that follow the metadata of host aggregates."""
