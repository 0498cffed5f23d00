"""WSGI server: checks of heads, connections and their limits, TLS, bodies in chunks, shutdown."""
