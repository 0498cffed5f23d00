"""What is done to instances after their build, one flow of stages for each operation."""
