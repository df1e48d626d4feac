"""Set the determinism switches of the frameworks, where the implementation is held fixed.

Environment variables that must be there before a process starts (``CUBLAS_WORKSPACE_CONFIG``) are set by who starts it.
TF32 stays as the program has it: it changes the values, not their repetition.
"""

import functools

from ..frameworks import CALL, every


def write_switch(process, name, value):
    """Write down that a switch was set."""
    process.events.write({"event": "switch", "name": name, "value": value})


def set_rows(module, process):
    """Set the switches of `module` that the table of switches has; a version that lacks an attribute stays as it is."""
    if not process.config.get("hold_impl"):
        return
    for name, path, value in every("switches"):
        if name != module.__name__:
            continue
        *owners, attribute = path.split(".")
        target = functools.reduce(getattr, owners, module)
        if value == CALL:
            getattr(target, attribute)()
            write_switch(process, "%s.%s" % (name, path), True)
        elif hasattr(target, attribute):
            setattr(target, attribute, value)
            write_switch(process, "%s.%s" % (name, path), value)
