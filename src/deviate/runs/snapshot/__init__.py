"""The project as it was: what is copied, linked or left out, and a copy of it for each run."""
