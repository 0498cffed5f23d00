"""Zones: search other zones for hosts, and summarise what this zone can offer.

All modules except ``links`` and ``service`` are independent of messaging, so a whole tree of zones
can run in one process with links that call each other. ``scheduler.zones.offers`` describes how
closely a tree's decisions match those of one flat scheduler.
"""
