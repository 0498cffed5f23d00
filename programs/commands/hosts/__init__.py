"""Commands on hosts and sets of them: hosts, moves off them, services, aggregates, zones."""
