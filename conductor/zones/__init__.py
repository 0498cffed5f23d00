"""Zones as super conductors see them: those below, the border to those above, walks between."""
