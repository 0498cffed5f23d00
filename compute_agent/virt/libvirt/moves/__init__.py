"""Moves of guests to other hosts, cold and live."""
