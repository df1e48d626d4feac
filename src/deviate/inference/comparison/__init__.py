"""Experiments beside each other: which runs and metrics belong together, and what tests show."""
