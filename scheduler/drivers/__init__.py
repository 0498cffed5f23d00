"""Drivers: what decides. ``[scheduler] driver`` names one."""
