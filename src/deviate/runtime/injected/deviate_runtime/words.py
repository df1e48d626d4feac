"""The command line of this process."""

import os
import sys


def program_words():
    """Return the command line up to the program: its arguments may be secrets."""
    words = command_words()
    for index, word in enumerate(words[1:], 1):
        if word == "-c" or not word.startswith("-"):
            return words[: index + 1]
    return words[:1]


def command_words():
    """Return the command line; Python 3.7 sets `sys.argv` only after this runs."""
    words = getattr(sys, "orig_argv", None) or getattr(sys, "argv", None)
    if words:
        return list(words)
    try:
        with open("/proc/self/cmdline", "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []
