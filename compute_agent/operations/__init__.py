"""Implementation of the operation steps that an agent executes, one function per verb."""
