"""Whether one side is worse than another by more than is allowed."""
