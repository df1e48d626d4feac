"""The ``deviate`` command as a process: what signals do to it, and how it ends."""

from __future__ import annotations

import sys

from deviate.signals import end_at_once


def main() -> None:
    """Run the command line; end with its exit status, or by the signal that ended it."""
    end_at_once()
    # Only then what takes time to import.
    from deviate.cli.command_line import run_command_line
    from deviate.replicate.interrupts import end, number_of

    try:
        status = run_command_line()
    except KeyboardInterrupt as stop:
        end(number_of(stop))
    sys.exit(status)
