"""The experiment that a command means where none is named."""

from __future__ import annotations

from pathlib import Path

from deviate.errors import BadOption
from deviate.shell_words import typed_word


def only_experiment(command: str) -> str:
    """Return the name of the only experiment of this project, for ``deviate COMMAND``.

    Raises
    ------
    BadOption
        If there are several, with the newest ones, or none.
    """
    from deviate.cli.list import newest_first
    from deviate.replicate.workspace.folders import MOST_NAMED, Workspace
    from deviate.results.overview import overviews

    readable, _ = overviews(Workspace.nearest(Path.cwd()))
    names = [str(facts["name"]) for facts in newest_first(readable)]
    if len(names) == 1:
        return names[0]
    if not names:
        raise BadOption(
            "there is no experiment here yet",
            hint="make one, such as deviate run -n 8 -- python train.py, or deviate import",
        )
    more = f" and {len(names) - MOST_NAMED} more: deviate list" if len(names) > MOST_NAMED else ""
    raise BadOption(
        f"there are {len(names)} experiments: name one",
        hint=f"type deviate {command} {typed_word(names[0])}; experiments, the newest first: "
        f"{', '.join(names[:MOST_NAMED])}{more}",
    )
