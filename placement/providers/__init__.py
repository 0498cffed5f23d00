"""Resource providers: the columnar table, their trees, inventories, traits and aggregates."""
