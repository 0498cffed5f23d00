"""Scheduler drivers, selected by ``[scheduler] driver``."""
