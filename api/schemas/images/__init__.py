"""Schemas of images."""
