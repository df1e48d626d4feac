"""Data flow: the origin of each value, through expressions, functions, classes and files."""
