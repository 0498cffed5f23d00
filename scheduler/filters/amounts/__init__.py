"""Filters that compare amounts: vCPUs, memory, disk, instances, builds in progress."""
