"""Supervisor of one workload; it runs isolated, with the standard library only."""
