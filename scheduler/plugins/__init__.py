"""Plugins: loading, calls and timeouts of what plugs into the scheduler's extension points.

The extension points are filters, weighers and request filters; see ``armillary.plugins``.
"""
