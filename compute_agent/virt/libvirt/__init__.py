"""The libvirt driver: virtual machines.

libvirt's library is optional and only imported when the driver creates its host.
"""
