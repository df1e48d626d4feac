"""Runs in containers: which engine and image, and the command line that starts a run in one (``--container``)."""
