"""Policies of images."""
