"""Tell a program that another one of the run starts as a command from the one that started it."""

import os

from .derive import mix


def command_of_child(process):
    """Return what tells this process by its command line, nothing for one that the run itself started.

    Children of `multiprocessing` are told by their number, and ranks by theirs.
    """
    words = process.describe()["argv"]
    if process.rank is not None or "--multiprocessing-fork" in words:
        return ()
    parents = "events-%d-" % os.getppid()
    if not any(name.startswith(parents) for name in os.listdir(process.config["records"])):
        return ()
    overlay = process.config.get("overlay")
    texts = [word.replace(overlay, "") if overlay else word for word in words[1:]]
    return ("command", "%08x" % mix(*texts))
