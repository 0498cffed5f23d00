"""The scheduler: selects hosts for instances and records why."""
