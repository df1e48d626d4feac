"""A meter, as the library of this name has."""
