"""Property tests have no deadline: a busy machine is not a bug. Fewer examples: each computes several tests."""

from hypothesis import settings

settings.register_profile("contrast", deadline=None, max_examples=30)
settings.load_profile("contrast")
