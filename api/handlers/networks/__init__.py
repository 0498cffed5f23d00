"""Networks, which are another service's: what early versions and stock clients still ask for."""
