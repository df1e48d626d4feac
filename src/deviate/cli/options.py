"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from deviate.cli.printing import listing, say
from deviate.core.errors import BadOption
from deviate.core.factors import GROUPS, VARIANTS
from deviate.core.shell_words import typed_word
from deviate.source.config import TypedStatistics, file_statistics, read_settings, settings_help

if TYPE_CHECKING:
    from deviate.report.figures import Figure


# Options of the form ``NAME=VALUE``.

Value = TypeVar("Value")


def named_values(option: str, texts: tuple[str, ...], read: Callable[[str], Value], example: str) -> dict[str, Value]:
    """Read what was given for a repeatable option, by name; names may hold ``=``.

    Raises BadOption if a text has no name or no value, or a name comes twice.
    """
    values: dict[str, Value] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name.strip() or not value.strip():
            raise BadOption(f"{option} {text!r} is not NAME=VALUE", hint=f"type for example {option} {example}")
        if name.strip() in values:
            raise BadOption(f"{option} of {name.strip()!r} is typed twice", hint="leave one")
        values[name.strip()] = read(value.strip())
    return values


Command = TypeVar("Command", bound=Callable[..., Any])

# Settings of statistics: ``--set KEY=VALUE`` of the commands that report, and ``[statistics]`` in deviate.toml.

#: How the records of an experiment become samples.
SAMPLES = ("aggregate", "direction", "main", "weak", "reach", "test_size")


def statistics_option(command: Command) -> Command:
    """Give a command ``--set``; it gets what was typed as `settings`, for `read_statistics`."""
    return keys_option(command, "; several are in the table [statistics] of deviate.toml, too")


def keys_option(command: Command, more: str = "") -> Command:
    """Give a command ``--set`` of keys that its help lists."""
    text = f"Say for this command one of the keys below{more}. Repeatable."
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=text)(command)


def statistics_keys(keys: Sequence[str], kind: type[msgspec.Struct] = TypedStatistics) -> str:
    """Return the paragraph of a command's help that lists what its ``--set`` takes, and an empty line."""
    return listing("Keys of --set", settings_help(kind, keys)) + "\n\n"


def read_statistics(settings: Sequence[str], keys: Sequence[str]) -> dict[str, Any]:
    """Return what was typed, as functions of the API take it.

    Raises BadOption with what cannot be read.
    """
    return read_settings(settings, TypedStatistics, keys)


def number(option: str, example: str) -> Callable[[str], float]:
    """Return what reads the number of an option.

    Raises BadOption if it is none.
    """

    def read(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise BadOption(f"{option}: {text!r} is no number", hint=f"type for example {option} {example}") from None

    return read


# ``--set figures=FOLDER`` of ``deviate report`` and ``deviate compare``: figures as files.

DEFAULT_FORMAT = "pdf"


def chosen_figures(typed: dict[str, Any], project: Path) -> tuple[Path | None, str]:
    """Return the folder and the format of figures, taken out of what was typed; without a folder none are written.

    Raises BadOption if a format was typed, and no figures are written.
    """
    folder, format_name = typed.pop("figures", ""), typed.pop("figure_format", None)
    if format_name is not None and not folder:
        raise BadOption("--set figure_format says how figures are written", hint="type --set figures=FOLDER, too")
    return Path(folder) if folder else None, str(
        format_name or file_statistics(project, "figure_format").get("figure_format", DEFAULT_FORMAT)
    )


def write_figure_files(figures: Sequence[Figure], folder: Path, format_name: str) -> None:
    """Write figures and say on standard error what was written.

    Raises BadOption if the folder or a file in it cannot be written.
    """
    from deviate.report.figures import FIGURE_FORMATS, write_figures
    from deviate.runs.snapshot.manifest import note_written

    chosen = next(name for name in FIGURE_FORMATS if name == format_name)
    try:
        there = set(folder.iterdir()) if folder.is_dir() else set()
        for path in write_figures(figures, folder, chosen):
            note_written(path)
            say(f"{'replaced' if path in there else 'written to'} {path}", err=True)
    except OSError as problem:
        raise BadOption(
            f"cannot write {problem.filename or folder}: {problem.strerror}", hint="name a folder that can be written"
        ) from problem
    if not figures:
        click.echo("no figure: nothing was measured", err=True)


# What a shell completes: names of experiments, and what may vary.


def experiment_names(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the experiments of this project whose names begin with `typed`."""
    from deviate.store.folders import Workspace

    return [name for name in Workspace.nearest(Path.cwd()).names() if name.startswith(typed)]


def experiments_and_grids(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the experiments, and the grids that have cells, whose names begin with `typed`."""
    from deviate.core.experiment import AT

    names = experiment_names(context, parameter, typed)
    grids = {grid for grid, at, _ in (name.partition(AT) for name in names) if at}
    return [*(grid for grid in sorted(grids - set(names)) if grid.startswith(typed)), *names]


def experiment_sides(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the experiments, or behind a colon the variants of the experiment before it."""
    name, colon, variant = typed.partition(":")
    if not colon:
        return experiment_names(context, parameter, typed)
    from deviate.core.errors import DeviateError
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    try:
        planned = workspace.find_experiment(name).read_experiment().planned
    except DeviateError:
        # There is no such experiment, or it is damaged: a shell has no place to say so.
        return []
    return [f"{name}:{each}" for each in planned if each.startswith(variant)]


def metric_names(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return the metrics whose names begin with `typed`, of the experiments on the line or else of the only one."""
    from deviate.core.errors import DeviateError
    from deviate.observe.metrics import with_times
    from deviate.observe.tables import open_tables
    from deviate.store.folders import Workspace

    workspace = Workspace.nearest(Path.cwd())
    # Behind an option without its value yet, click leaves all arguments unread.
    named, every = [side.partition(":")[0] for side in context.args], workspace.names()
    found: set[str] = set()
    for name in named or (every if len(every) == 1 else []):
        try:
            with open_tables(workspace.find_experiment(name)) as tables:
                found.update(with_times(name for name, _ in tables.names))
        except DeviateError:
            # There is no such experiment, or it is damaged: a shell has no place to say so.
            continue
    return sorted(name for name in found if name.startswith(typed))


def complete_whole_words() -> None:
    """Have Bash, too, take what stands for a word as one: a metric's name may hold blanks."""
    from click.shell_completion import BashComplete, add_completion_class

    class WholeWords(BashComplete):
        source_template = BashComplete.source_template.replace("+=($value)", '+=("$(printf %%q "$value")")')

    add_completion_class(WholeWords)


#: Decorator of a command that takes metrics of stored results by name; takes what `click.option` takes.
metric_option = partial(click.option, "--metric", shell_complete=metric_names)


def variants(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return what ``--vary`` takes and that completes `typed`; behind a comma, the next factor."""
    done, comma, last = typed.rpartition(",")
    words = [*VARIANTS, *GROUPS]
    return [f"{done}{comma}{word}" for word in words if word.startswith(last)]


# The experiment that a command means where none is named.


def only_experiment(command: str) -> str:
    """Return the name of the only experiment of this project, for ``deviate COMMAND``.

    Raises BadOption if there are several, with the newest ones, or none.
    """
    from deviate.cli.board import newest_first
    from deviate.facts.overview import overviews
    from deviate.store.folders import MOST_NAMED, Workspace

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


# Ask before something is deleted.


def yes_option(command: Command) -> Command:
    """Give a command ``--yes``."""
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(command)


def require_yes(question: str, *, yes: bool) -> None:
    """Go on where the user agrees.

    Raises BadOption where this is no terminal, so Deviate cannot ask. Raises click.Abort if the user does not agree.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadOption("nothing was removed: this is no terminal, so Deviate cannot ask", hint="add --yes")
    click.confirm(question, abort=True, err=True)
