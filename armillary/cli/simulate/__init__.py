"""``armillary simulate``: the real scheduler and placement over hosts that are only described."""
