"""The cells of a grid beside each other."""
