"""Checks of ``armillary-status security check``: settings weaker than the best practice."""
