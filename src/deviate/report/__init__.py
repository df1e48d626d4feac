"""All that is said about an experiment, as data, and the writers that lay it out."""
