"""The compute agent: carries workloads on a host and reports what it has."""
