"""A tree of zones in one process: each decides by the real code, and what they say is measured."""
