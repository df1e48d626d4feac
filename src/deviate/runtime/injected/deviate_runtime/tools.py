"""Give instrumented code to tools that run a script in their own process: profilers, debuggers, IPython.

They compile the text of the script themselves. So in their processes, and in no other, `compile` knows which text is
that of a file whose code is given.
"""

import builtins
import os
import sys

from .given import read
from .patching import replaces
from .words import program_words

#: By the name of their program or module.
TOOLS = ("cProfile", "profile", "pdb", "trace", "IPython", "ipython", "ipython3", "coverage", "kernprof")
TOOLS += ("torch.utils.bottleneck",)

#: What `compile` is asked for that wants no code.
ONLY_TREE = 0x400


def watch_tools(process):
    """Have `compile` give code, if this is the process of such a tool."""
    words = program_words()
    name = words[-1] if "-m" in words else os.path.basename(words[-1]) if words else ""
    if name not in TOOLS or not process.given.files or hasattr(builtins.compile, "_deviate"):
        return
    import __future__

    futures = 0
    for feature in __future__.all_feature_names:
        futures |= getattr(__future__, feature).compiler_flag
    plain = builtins.compile

    @replaces(builtins, "compile")
    def compile_given(source, filename, mode, flags=0, dont_inherit=False, optimize=-1, **further):
        if mode == "exec" and not flags & ONLY_TREE and isinstance(filename, str):
            path = os.path.abspath(filename)
            if process.given.find_safely(path) is not None and is_text_of(path, source):
                code = process.given.code(path, filename)
                if code is not None:
                    return code
        if not dont_inherit:
            flags |= sys._getframe(1).f_code.co_flags & futures
        return plain(source, filename, mode, flags, True, optimize, **further)


def is_text_of(path, source):
    """Tell whether a text is what is in a file, but for its line ends."""
    data = read(path)
    if isinstance(source, str):
        return source.split() == data.decode("utf-8-sig", "replace").split()
    return source == data
