"""Drivers: what turns an instance into a process, a VM or a simulation."""
