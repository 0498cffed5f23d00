"""Operator programs, armillary-manage and armillary-status: databases, brokers, services."""
