"""Claims on pools: resources of a kind that a project holds, with or without a server."""
