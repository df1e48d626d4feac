"""Read a project: its settings, what its source shows, and the code that Python is given in its place."""
