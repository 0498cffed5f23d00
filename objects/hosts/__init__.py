"""Hosts: services, compute nodes, their attributes and states."""
