"""NUMA cells and PCI devices of hosts: what is in use, and which hosts a guest fits on."""
