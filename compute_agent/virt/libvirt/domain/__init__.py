"""Domains of libvirt: their XML, and what flavors, images and hosts put into it."""
