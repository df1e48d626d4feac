"""The main training loop, and what runs before, during and after it."""
