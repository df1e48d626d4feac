"""One file per format: a writer lays a page out, and adds no number, no sentence and no table of its own."""
