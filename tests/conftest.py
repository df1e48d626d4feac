"""What holds for all tests."""

import signal

# Tests that a shell runs in its background inherit that Ctrl-C is ignored, and would hand it on to what they run.
signal.signal(signal.SIGINT, signal.default_int_handler)
