"""Compute drivers: run instances as processes, virtual machines or simulations."""
