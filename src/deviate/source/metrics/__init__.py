"""Which reported values are metrics, under which names, and how each is recorded."""
