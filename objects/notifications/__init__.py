"""Versioned payloads of notifications to third parties."""
