"""Flavors, images, key pairs, aggregates, server groups and quotas in the API database."""
