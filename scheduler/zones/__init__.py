"""Zones: which others may have a host for a request, what they offer, and what this one can do.

All but ``links`` and ``service`` knows nothing of messages: a whole tree of zones runs in one
process with links that call each other. How far a tree decides as one flat scheduler would is told
in ``scheduler.zones.joining``.
"""
