"""Repair in this cell: work whose lease expired, allocations that differ from the records."""
