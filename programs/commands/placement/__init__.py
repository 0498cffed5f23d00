"""Commands on placement, in the words of OpenStack's client: providers, inventories, traits."""
