"""Built-in identity as an HTTP API: the part of Keystone's version 3 that stock clients ask for."""
