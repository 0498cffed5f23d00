"""Tempest, OpenStack's own tests of the Compute API, against ``armillary up``: ``make tempest``."""
