"""Admission of requests: validation, quota, server groups; stored in one transaction; dry runs."""
