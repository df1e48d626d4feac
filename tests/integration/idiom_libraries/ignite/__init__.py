"""An engine, as the library of this name has."""
