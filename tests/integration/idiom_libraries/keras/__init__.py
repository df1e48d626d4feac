"""A mean, as the library of this name has."""
