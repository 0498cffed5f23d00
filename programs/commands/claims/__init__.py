"""Claims on pools, and pools."""
