"""Draws of random numbers in the project's own files: where they are, and which factor each is of."""
