"""``armillary-manage placement``: audit and repair of what placement has recorded."""
