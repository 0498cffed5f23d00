"""Servers as users see and operate them: views over all cells, operations, decisions."""
