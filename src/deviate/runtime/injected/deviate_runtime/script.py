"""Give Python instrumented code for the script of its command line.

Python asks `sys.path_hooks` whether the script is a folder or an archive with a program in it, before it reads the
file. Where it is one whose code is given, the answer is yes: Python then has `runpy` run it. What stands there for
`runpy` is called by no Python function and calls none, so that the program finds no frame above its own, prints its own
tracebacks and ends as it would.

The command line of this process.
"""

import _frozen_importlib_external as importing
import os
import sys
from collections import defaultdict
from functools import partial


def watch_script(given):
    """Be asked about the script of this process, if its code is given."""
    path = given.script()
    code = None if path is None else given.code(path, script_name(path))
    if code is not None:
        run_for(path, None, code)


def script_name(path):
    """Return what Python calls the script at `path`."""
    if sys.version_info < (3, 9) or os.path.isabs(path):
        return path
    return os.path.join(os.getcwd(), path[2:] if path.startswith("./") else path)


def run_for(asked, path, code):
    """Have code run where Python is about to run the script at `asked`.

    Parameters
    ----------
    asked : str
        The script by any name.
    path : str or None
        What the script that runs is called; None: as Python calls that which it is about to run.
    code : code or None
        Its code; None: that of the file at `path`.
    """

    def claim(entry):
        if not os.path.exists(entry) or not os.path.samefile(entry, asked):
            raise ImportError("it is no script", path=entry)
        # No hook is asked after one that answers, so the list may change.
        sys.path_hooks.remove(claim)
        sys.modules["runpy"] = script = Script(entry, path or entry, code, sys.modules.get("runpy"))
        return script

    sys.path_hooks.insert(0, claim)


class Script:
    """Stands for `runpy` until Python asks it what runs the script."""

    __slots__ = ("entry", "path", "code", "runpy")

    def __init__(self, entry, path, code, runpy):
        self.entry = entry
        self.path = path
        self.code = code
        self.runpy = runpy

    @property
    def _run_module_as_main(self):
        """What runs the script, with all as it is when Python itself does."""
        if self.runpy is None:
            del sys.modules["runpy"]
        else:
            sys.modules["runpy"] = self.runpy
        sys.path_importer_cache[self.entry] = None
        if sys.path and sys.path[0] == self.entry:
            del sys.path[0]
        if not getattr(sys.flags, "safe_path", False):
            sys.path.insert(0, os.path.dirname(os.path.realpath(self.path)))
        namespace = sys.modules["__main__"].__dict__
        namespace.update(__file__=self.path, __cached__=None)
        namespace["__loader__"] = importing.SourceFileLoader("__main__", self.path)
        # Python takes them away once the script has ended, so that what is called later does not find them.
        leave = [partial(namespace.pop, name, None) for name in ("__file__", "__cached__")]
        return called_by_nobody(self.run(namespace), *leave)

    def run(self, namespace):
        """Return what runs the script, or says as Python would why it cannot be."""
        if self.code is not None:
            importing._imp._fix_co_filename(self.code, self.path)
            return partial(exec, self.code, namespace)
        with open(self.path, "rb") as file:
            text = file.read()
        compiled = partial(compile, text, self.path, "exec", 0, True)
        try:
            return partial(exec, compiled(), namespace)
        except (SyntaxError, ValueError):
            return compiled


def called_by_nobody(*functions):
    """Return what calls functions without arguments, one after the other, whatever it is given; it has no frame.

    To fill in the text values are looked up that are not there, and so made.
    """
    text = "".join("{%d[made]}" % number for number in range(len(functions)))
    return partial(text.format, *map(defaultdict, functions))


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
