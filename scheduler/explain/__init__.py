"""Explanations: the decision trace, reasons for removed hosts, nearest misses."""
