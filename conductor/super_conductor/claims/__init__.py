"""Claims on pools: accepted, scheduled, held, and ended at their time or with their server."""
