"""The script of a process that forks runs, whose own takes its place in each of them: see `warm`."""
