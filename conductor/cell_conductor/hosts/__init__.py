"""Hosts of this cell: services, compute nodes, providers, host states for schedulers."""
