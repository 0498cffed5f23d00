"""Filters that compare hosts with those of other instances: affinity, anti-affinity, spread."""
