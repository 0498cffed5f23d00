"""Hosts: hypervisors, services, aggregates, availability zones."""
