"""Wire form of messages: how objects, dataclasses and plain arguments are written and checked."""
