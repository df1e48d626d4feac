"""Read a project: which code runs, where its main loop is, which of its reported values are metrics."""
