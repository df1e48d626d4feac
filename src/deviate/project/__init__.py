"""What the user points at: the command with its entry, ``deviate.toml``, the chosen metrics."""
