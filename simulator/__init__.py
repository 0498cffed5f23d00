"""``armillary simulate``: the real scheduler and placement on simulated hosts."""
