"""Plugins of another maker, with nothing but the public names of Armillary's."""
