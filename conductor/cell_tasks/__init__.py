"""What a cell conductor does with instances: work under leases, in steps that may run twice."""
