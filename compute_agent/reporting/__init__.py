"""Reports to the cell conductor, and reconciliation with its records."""
