"""The broker as Armillary uses it: topics, queues, accounts of roles, TLS."""
