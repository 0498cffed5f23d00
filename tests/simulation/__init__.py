"""The whole system in one thread under a virtual clock, driven and broken by a seed."""
