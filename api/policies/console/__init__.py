"""Policies of what the web console shows: the fleet, one host, now; and links to it."""
