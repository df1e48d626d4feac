"""``deviate`` alone: where a project stands, and what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Experiments that are listed; `deviate list` has all.
LISTED = 5

#: Files of these names, or that begin or end with one of them, are likely to train.
TRAINING_NAMES = ("train", "main", "run", "fit")


def standing_lines() -> list[str]:
    """Return at most twelve lines on the project around the current folder."""
    from deviate.replicate.workspace.folders import Workspace
    from deviate.results.overview import overview

    workspace = Workspace.nearest(Path.cwd())
    overviews = [overview(workspace.experiment(name)) for name in workspace.names()]
    return _with_experiments(overviews) if overviews else _without(likely_scripts(Path.cwd()))


def likely_scripts(folder: Path) -> list[str]:
    """Return the names of the Python files in `folder` that look like a training's, the likeliest first."""
    stems = {path.name: path.stem.lower() for path in sorted(folder.glob("*.py"))}
    ranked = [(word, name) for word in TRAINING_NAMES for name, stem in stems.items() if _begins_or_ends(stem, word)]
    return list(dict.fromkeys(name for _, name in ranked))


def _begins_or_ends(stem: str, word: str) -> bool:
    return stem.startswith(word) or stem.endswith(word)


def _with_experiments(overviews: Sequence[Mapping[str, Any]]) -> list[str]:
    from deviate.cli.list import aligned, lines, newest_first

    shown = lines(overviews, heads=True)[: LISTED + 1]
    newest, *others = newest_first(overviews)
    more = [f"… and {len(overviews) - LISTED} more: deviate list"] if len(overviews) > LISTED else []
    return [*shown, *more, "", *aligned(_next_commands(newest, [facts["name"] for facts in others]))]


def _next_commands(newest: Mapping[str, Any], others: Sequence[str]) -> list[tuple[str, str]]:
    """Return commands and what they do, for the newest experiment and one other."""
    name = newest["name"]
    runs = max(newest["planned"].values(), default=0)
    missing = sum(newest["planned"].values()) - sum(newest["completed"].values())
    again = f"deviate run --name {name} -n {runs if missing else 2 * runs} -- {shlex.join(newest['command'])}"
    return [
        (f"deviate report {name}", "how much its runs differ"),
        (again, f"make the {missing} missing runs" if missing else "add runs"),
        *([(f"deviate compare {others[0]} {name}", "is one better than the other?")] if others else []),
        ("deviate --help", "all commands"),
    ]


def _without(scripts: Sequence[str]) -> list[str]:
    from deviate.cli.list import aligned

    command = f"python {shlex.quote(scripts[0])}" if scripts else "python train.py"
    seen = f"Scripts that may train: {', '.join(scripts[:LISTED])}." if scripts else ""
    return [
        f"No experiment in this folder yet. {seen}".rstrip(),
        "",
        *aligned(
            [
                (f"deviate run -n 8 -- {command}", "train 8 times and report how much the metrics differ"),
                (f"deviate audit -- {command}", "list the sources of nondeterminism, before a long training"),
                (f"deviate init -- {command}", "show what a run would do, and write a deviate.toml to edit"),
                ("deviate doctor", "check this machine and its settings"),
                ("deviate --help", "all commands"),
            ]
        ),
    ]
