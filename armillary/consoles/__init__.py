"""Serial consoles between the API, which makes links, and the proxy that users reach by them."""
