"""Scheduling of claims: the filter scheduler over the pools of one kind, instead of hosts."""
