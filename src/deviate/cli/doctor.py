"""``deviate doctor``: what of this machine matters to trainings."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deviate.cli.printing import Styled, examples, json_option, say, say_json

if TYPE_CHECKING:
    from deviate.probes.machine import Check

#: Characters before what was found.
MARGIN = 22

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@click.command("doctor", epilog=examples("deviate doctor", "deviate doctor --json"))
@json_option
def command(as_json: bool) -> int:
    """Check this machine: Python, frameworks, GPUs, determinism switches, threads, disk.

    Nothing is changed and no framework is imported. The exit status is 1 where a problem would stop a run.
    """
    import msgspec

    from deviate.probes.machine import check_machine

    checks = check_machine(Path.cwd(), os.environ)
    if as_json:
        say_json(json.dumps({"schema": 1, "checks": msgspec.to_builtins(checks)}))
    else:
        say(*(line for check in checks for line in _lines(check)))
    return int(any(check.state == "problem" for check in checks))


def _lines(check: Check) -> list[str]:
    from deviate.report.escape import clean

    state = click.style(f"{check.state:8}", fg=_COLOURS[check.state])
    width = max(shutil.get_terminal_size().columns - MARGIN, MARGIN)
    first, *rest = textwrap.wrap(clean(check.found), width) or [""]
    below = [*rest, *(textwrap.wrap(check.advice, width) if check.advice else [])]
    return [Styled(f"{state} {check.name:12} {first}"), *(f"{'':{MARGIN}}{line}" for line in below)]
