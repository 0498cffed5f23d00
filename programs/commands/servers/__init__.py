"""Commands on servers: create, list, show, settings, actions."""
