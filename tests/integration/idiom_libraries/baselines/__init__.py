"""Prints what the library of this name would show."""
