"""The process driver: workloads that are operating-system processes with limits."""
