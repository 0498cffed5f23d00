"""Builds: schedule, store the selections, hand over to cells, map; or store in cell0."""
