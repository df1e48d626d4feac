"""Property tests have no deadline: a busy machine is not a bug."""

from hypothesis import settings

settings.register_profile("deviate", deadline=None)
settings.load_profile("deviate")
