"""What holds for all tests."""

import os
import signal

import pytest
from hypothesis import settings

# A busy machine is not a bug.
settings.register_profile("deviate", deadline=None)
settings.load_profile("deviate")

# Tests that a shell runs in its background inherit that Ctrl-C is ignored, and would hand it on to what they run.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _caches_of_its_own(pytestconfig):
    """Keep what Deviate caches within the checkout, and from one session of tests to the next."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(pytestconfig.cache.mkdir("home"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before
