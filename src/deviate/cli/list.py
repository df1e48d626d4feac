"""``deviate list``: the experiments of a project."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.printing import examples, say, say_json, terminal_width

if TYPE_CHECKING:
    from deviate.facts.overview import Unreadable

HEADS = ("experiment", "runs", "made", "command")

#: Variants of an experiment that are listed one by one; of more the sum is.
VARIANTS_SHOWN = 2


@click.command("list", epilog=examples("deviate list", "deviate list --json"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> None:
    """List the experiments of this project, the newest first.

    The list counts, for each variant, the runs that completed and those planned. An experiment that cannot be
    read, since a file was damaged, is listed last, with the reason.

    `deviate rm` removes one, `deviate mv` gives it another name, and `deviate prune` frees what its runs saved.
    """
    from deviate.facts.overview import overviews
    from deviate.store.folders import Workspace

    found, unreadable = overviews(Workspace.nearest(Path.cwd()))
    if as_json:
        others = [each._asdict() for each in unreadable]
        say_json(json.dumps({"schema": 1, "experiments": found, "unreadable": others}))
        return
    if not found and not unreadable:
        click.echo("no experiment here yet; make one, such as deviate run -n 8 -- python train.py")
        return
    # What a script reads are the experiments alone.
    say(*lines(found, unreadable, heads=sys.stdout.isatty()))
    say(*hints(unreadable), err=True)


def lines(overviews: Sequence[Mapping[str, Any]], unreadable: Sequence[Unreadable] = (), *, heads: bool) -> list[str]:
    """Return a line an experiment, the newest first, unreadable ones last; below heads where they are wanted."""
    from deviate.report.escape import clean

    rows = [_row(facts) for facts in newest_first(overviews)]
    rows += [(each.name, "unreadable", "", clean(each.problem)) for each in unreadable]
    return aligned([HEADS, *rows], terminal_width()) if heads else aligned(rows)


def hints(unreadable: Iterable[Unreadable]) -> list[str]:
    """Return what to do about each experiment that cannot be read."""
    return [f"{each.name}: {each.hint}" for each in unreadable]


def newest_first(overviews: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort experiments by when they were made."""
    return sorted(overviews, key=_moment, reverse=True)


def aligned(rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Return the rows as lines with columns as wide as their widest cell; the last one is as it is.

    Lines longer than `width` are cut, and end in dots.

    Examples
    --------
    >>> aligned([("a", "b"), ("long", "c")])
    ['a     b', 'long  c']
    >>> aligned([("a", "python train.py")], width=12)
    ['a  python t…']
    """
    from rich.cells import cell_len, set_cell_size

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([*(set_cell_size(cell, wide) for cell, wide in zip(row[:-1], widths, strict=False)), row[-1]])
        for row in rows
    ]
    too_long = [width is not None and cell_len(line) > width for line in lines]
    return [
        set_cell_size(line, (width or 1) - 1) + "…" if cut else line for line, cut in zip(lines, too_long, strict=True)
    ]


def _moment(facts: Mapping[str, Any]) -> datetime:
    """Return when it was made; a moment without a zone is one of this machine's."""
    return datetime.fromisoformat(facts["created"]).astimezone()


def _row(facts: Mapping[str, Any]) -> tuple[str, str, str, str]:
    from deviate.report.escape import clean
    from deviate.report.topics.command import command_text

    made = facts["created"][:16].replace("T", " ")
    runs = _runs(facts["completed"], facts["planned"])
    runs += f", {facts['evaluating']} evaluating" if facts.get("evaluating") else ""
    return facts["name"], clean(runs), made, clean(command_text(facts["command"]))


def _runs(completed: Mapping[str, int], planned: Mapping[str, int]) -> str:
    if len(planned) > VARIANTS_SHOWN:
        return f"{len(planned)} variants {sum(completed.values())}/{sum(planned.values())}"
    return ", ".join(f"{variant} {done}/{planned[variant]}" for variant, done in completed.items())
