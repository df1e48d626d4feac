"""Turn findings into an overlay: the project's files with reported values wrapped in place."""
