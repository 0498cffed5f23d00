"""OpenStack's own command line against ``armillary up``, from an environment of its own."""
