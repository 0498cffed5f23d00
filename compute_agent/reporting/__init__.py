"""What the agent tells its cell conductor, and how both are reconciled."""
