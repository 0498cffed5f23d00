"""This machine's CPUs, memory, NUMA cells and PCI devices, and their usage."""
