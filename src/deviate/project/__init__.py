"""The user's project: the command with its entry, ``deviate.toml``, the selected metrics."""
