"""Options of the agent's drivers: processes, virtual machines, simulated workloads."""
