"""``armillary-manage deploy``: a deployment's accounts, databases, keys, files and units."""
