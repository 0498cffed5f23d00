"""Images: their metadata, records and tickets, and the properties that guests obey."""
