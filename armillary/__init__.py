"""Common foundation of all Armillary services."""
