"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deviate.cli.printing import say
from deviate.core.errors import BadOption
from deviate.core.factors import GROUPS, VARIANTS
from deviate.core.shell_words import typed_word

if TYPE_CHECKING:
    from deviate.facts.samples import SampleOptions
    from deviate.report.figures import Figure


# Options of the form ``NAME=VALUE``.

Value = TypeVar("Value")


def named_values(option: str, texts: tuple[str, ...], read: Callable[[str], Value], example: str) -> dict[str, Value]:
    """Read what was given for a repeatable option, by name; names may hold ``=``.

    Raises
    ------
    BadOption
        If a text has no name or no value.
    """
    values: dict[str, Value] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not sign or not name.strip() or not value.strip():
            raise BadOption(f"{option} {text!r} is not NAME=VALUE", hint=f"type for example {option} {example}")
        values[name.strip()] = read(value.strip())
    return values


Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--aggregate",
        "aggregates",
        multiple=True,
        metavar="METRIC=AGGREGATE",
        help="How a run's values become one number: last, best, mean, max, min, area or 'at ITERATION'; repeatable.",
    ),
    click.option(
        "--direction",
        "directions",
        multiple=True,
        metavar="METRIC=higher|lower",
        help="Which values are better; remembered for all experiments here. [direction] in deviate.toml says it, too. "
        "Repeatable.",
    ),
    click.option(
        "--weak",
        multiple=True,
        metavar="METRIC<NUMBER",
        help="Leave out runs that did not converge ('test acc<50', or NaN), and give every number with them too. "
        "METRIC alone leaves out runs far from the others, by the median absolute deviation. Repeatable.",
    ),
    click.option(
        "--reach",
        multiple=True,
        metavar="METRIC>=NUMBER",
        help="Measure the iterations and seconds until a run gets there; METRIC alone: to its best value; repeatable.",
    ),
    click.option(
        "--test-size",
        "test_sizes",
        multiple=True,
        metavar="METRIC=EXAMPLES",
        help="Number of test examples: tells how much of an accuracy's spread a finite test set explains; repeatable.",
    ),
)


def sample_options(command: Command) -> Command:
    """Give a command the options of `read_sample_options`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_sample_options(options: dict[str, Any], differences: tuple[str, ...]) -> SampleOptions:
    """Read the options as they were typed, with the differences that a report sets the spread beside.

    Raises
    ------
    BadOption
        With the option that cannot be read.
    """
    from deviate.facts.samples import read_options

    read = named_values("--difference", differences, _number, "'test acc=0.5'")
    return read_options(**sample_arguments(options), differences=read)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadOption(
            f"--difference needs a number, found {text!r}", hint="type --difference 'test acc=0.5'"
        ) from None


def sample_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return what was typed for the options of `sample_options` as functions of the API take it.

    Raises
    ------
    BadOption
        With the option that cannot be read.
    """
    from deviate.facts.samples import parse_sizes

    return {
        "aggregates": named_values("--aggregate", options["aggregates"], str, "'test acc=best'"),
        "directions": named_values("--direction", options["directions"], str.lower, "'reward=higher'"),
        "test_sizes": parse_sizes(options["test_sizes"]),
        "weak": options["weak"],
        "reach": options["reach"],
    }


# Options on groups of examples.


def group_options(command: Command) -> Command:
    """Give a command ``--groups`` and ``--positive``."""
    positive = click.option(
        "--positive",
        metavar="CLASS",
        help="With --groups: the class that counts as positive.  [default: the greater of two]",
    )
    return groups_option("Report also how well runs do on groups of the evaluated examples")(positive(command))


def groups_option(what: str) -> Callable[[Command], Command]:
    """Give a command ``--groups``; `what` is what it does with them."""
    return click.option(
        "--groups",
        multiple=True,
        metavar="FILE|COLUMN",
        help=f"{what}: columns of a file (csv, tsv, jsonl, parquet, npy or npz), or a column of the file of "
        "predictions that each run writes; repeatable.",
    )


# ``--figures DIR`` of ``deviate report`` and ``deviate compare``: figures as files.

DEFAULT_FORMAT = "pdf"


def figure_options(command: Command) -> Command:
    """Give a command the options that write figures; it gets them as `figures` and `figure_format`."""
    add_format = click.option(
        "--figure-format",
        type=click.Choice(["pdf", "svg", "png"]),
        help=f"Format of the files that --figures writes.  [default: {DEFAULT_FORMAT}]",
    )
    add_folder = click.option(
        "--figures",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Write every figure into this folder, as wide as a column of a paper. Add --format or -o to write the "
        "report too.",
    )
    return add_folder(add_format(command))


def check_figures(folder: Path | None, format_name: str | None) -> None:
    """Refuse a format of figures without figures.

    Raises
    ------
    BadOption
        If `format_name` is given and `folder` is not.
    """
    if format_name is not None and folder is None:
        raise BadOption("--figure-format says how --figures are written", hint="type --figures DIR, too")


def write_figure_files(figures: Sequence[Figure], folder: Path, format_name: str | None) -> None:
    """Write figures and say on standard error what was written.

    Raises
    ------
    BadOption
        If the folder or a file in it cannot be written.
    """
    from deviate.report.figures.files import FIGURE_FORMATS, write_figures
    from deviate.runs.snapshot.manifest import note_written

    chosen = next(name for name in FIGURE_FORMATS if name == (format_name or DEFAULT_FORMAT))
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
    from deviate.source.cells import AT

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


def variants(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Return what ``--vary`` takes and that completes `typed`; behind a comma, the next factor."""
    done, comma, last = typed.rpartition(",")
    words = [*VARIANTS, *GROUPS]
    return [f"{done}{comma}{word}" for word in words if word.startswith(last)]


# The experiment that a command means where none is named.


def only_experiment(command: str) -> str:
    """Return the name of the only experiment of this project, for ``deviate COMMAND``.

    Raises
    ------
    BadOption
        If there are several, with the newest ones, or none.
    """
    from deviate.cli.list import newest_first
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
