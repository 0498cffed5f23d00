"""``armillary demo``: real and simulated workloads land on hosts, seen through the public API."""
