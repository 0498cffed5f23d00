"""Simulated fleets: hosts, their shapes, outages, and the true state of each."""
