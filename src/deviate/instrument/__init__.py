"""Make an overlay from findings: the project's files with reported values wrapped on their lines."""
