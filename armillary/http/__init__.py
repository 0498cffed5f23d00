"""HTTP servers: a WSGI application on a port, TLS with reloaded files, and the token file."""
