"""The operator's programs, armillary-manage and armillary-status, which work on the databases."""
