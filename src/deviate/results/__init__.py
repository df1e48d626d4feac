"""The one way from the files of an experiment to its numbers: samples, and what was excluded from them and why."""
