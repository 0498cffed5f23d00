"""Clients of image services: Glance, and the data of images as it comes over HTTP."""
