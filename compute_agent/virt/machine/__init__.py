"""What this machine has: CPUs, memory, NUMA cells, PCI devices, and how busy they are."""
