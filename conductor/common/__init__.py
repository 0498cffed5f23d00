"""Code shared by both conductors: leases, service records, clocks, the cell database."""
