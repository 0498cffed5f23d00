"""Plug-ins: how filters and weighers are loaded, called, and timed out."""
