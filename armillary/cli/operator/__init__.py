"""The operator's programs, armillary-manage and armillary-status: databases, brokers, services."""
