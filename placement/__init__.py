"""Placement: inventories of resource providers, allocations of consumers, allocation candidates."""
