"""``armillary demo``: placement of real and simulated workloads, shown through the public API."""
