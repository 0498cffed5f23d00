"""Options of schedulers: drivers, filters, weighers, zones."""
