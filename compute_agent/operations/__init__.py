"""What an agent does when it is told one step of an operation, a function for each verb."""
