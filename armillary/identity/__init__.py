"""Built-in identity: users, projects and tokens for deployments without Keystone."""
