"""Policies of hosts."""
