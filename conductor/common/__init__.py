"""What both conductors stand on: leases, service records, clocks, the cell database."""
