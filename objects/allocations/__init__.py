"""Allocations in placement: queries for candidates, claims, and the fences of writes."""
