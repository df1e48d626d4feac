"""What Ctrl-C does to a process of Deviate: it ends it, at once and by the system, as SIGTERM and SIGHUP do.

An exception would not do: within an import, a destructor or a library's ``except:`` it is lost, and elsewhere it is
shown as a traceback. This module is what a command imports first, so it imports no file: `_signal` is the part of
`signal` that is built into Python.
"""

import _signal as signal  # type: ignore[import-not-found]


def end_at_once() -> None:
    """Give Ctrl-C its default action; where it is ignored (``nohup``, ``&`` in a script) it stays so.

    Where something is to be put in order before the end, `deviate.replicate.interrupts` hears the signals meanwhile.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
