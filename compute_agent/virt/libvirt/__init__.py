"""The driver ``libvirt``: virtual machines.

libvirt's library is imported when the driver makes its host, not before: it is optional.
"""
