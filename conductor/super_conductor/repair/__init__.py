"""Repair: the allocation audit, healing, orphaned and missing allocations, expired leases."""
