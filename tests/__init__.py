"""The tests, in folders from the smallest part to the whole system under fault."""
