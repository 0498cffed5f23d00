"""Image service as an HTTP API: the part of Glance's version 2 that stock clients ask for."""
