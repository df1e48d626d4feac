"""Where two runs part: their recorded steps, operations and lines, set against each other."""
