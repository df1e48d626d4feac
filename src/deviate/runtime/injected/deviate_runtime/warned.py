"""Warnings show lines of the program as it is, not as they are instrumented."""

import os
import sys
import warnings

from .patching import replaces

#: How names of the runtime begin, which stand in the overlay's instrumented lines only.
RUNTIME = "__dv_"


def show_own_lines(config):
    """Have a warning of an instrumented line shown with that line of the program.

    From Python 3.14 on `warnings` hands on what another module defines.
    """
    module = sys.modules.get("_py_warnings", warnings)
    plain = getattr(module, "_formatwarnmsg_impl", None)
    if plain is None or hasattr(plain, "_deviate"):
        return

    @replaces(module, "_formatwarnmsg_impl")
    def format_warning(message):
        if message.line is None:
            message.line = own_line(config, message.filename, message.lineno)
        return plain(message)


def own_line(config, file, number):
    """Return a line of the program that its overlay has in instrumented form; None for any other line."""
    # Imports much, and most programs warn of nothing.
    import linecache

    if not (config.get("overlay") and config.get("sources")) or RUNTIME not in linecache.getline(file, number):
        return None
    overlay, path = (os.path.realpath(each) for each in (config["overlay"], file))
    if not path.startswith(os.path.join(overlay, "")):
        return None
    return linecache.getline(os.path.join(config["sources"], os.path.relpath(path, overlay)), number) or None
