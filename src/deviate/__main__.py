"""The commands as processes: ``deviate``, which is ``python -m deviate``, and ``deviate-worker``."""

# The part of `signal` that is built into Python: nothing is read before Ctrl-C has its default action.
import _signal as signal  # type: ignore[import-not-found]


def end_at_once() -> None:
    """Give Ctrl-C its default action: it ends the process at once and by the system, as SIGTERM and SIGHUP do.

    An exception would not do: within an import, a destructor or a library's ``except:`` it is lost, and elsewhere it is
    shown as a traceback. Where the signal is ignored (``nohup``, ``&`` in a script) it stays so. Where something is to
    be put in order before the end, `deviate.core.interrupts` hears the signals meanwhile.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


end_at_once()


def command() -> None:
    """Run the command line."""
    from deviate.cli.main import main

    main()


def worker() -> int:
    """Make one run where an engine has started this process; see `deviate.runs.worker`."""
    from deviate.runs.worker import main

    return main()


if __name__ == "__main__":
    command()
