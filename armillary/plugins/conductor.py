"""Imports for service group drivers of third parties."""

from conductor.cell_conductor.servicegroup import ServiceGroupDriver

__all__ = ["ServiceGroupDriver"]
