"""The ``deviate`` command as a process: what signals do to it, and how it ends."""

from __future__ import annotations

import gc
import sys
import warnings

#: Objects after which garbage is looked for.
GARBAGE = 100_000


def main() -> None:
    """Run the command line; end with its exit status, or by the signal that ended it."""
    # Importing makes many objects and no garbage: looking for some takes a tenth of the time of a short command.
    gc.set_threshold(GARBAGE)
    # Reports say what is too large for a 64-bit float; a line of our source says nothing to anybody.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"(deviate|numpy|scipy|pandas)\b")
    from deviate.cli.command_line import run_command_line
    from deviate.replicate.interrupts import end, number_of

    try:
        status = run_command_line()
    except KeyboardInterrupt as stop:
        end(number_of(stop))
    sys.exit(status)
