"""Lines on standard streams, in which nothing of a user's text does anything, and which cannot fail in a job.

``-o``, ``--json`` and ``--format``: facts in any format, on standard output or in a file.
"""

from __future__ import annotations

import io
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
import msgspec

from deviate.core.errors import BadOption, OutputLost
from deviate.core.interrupts import whole
from deviate.report.escape import clean

if TYPE_CHECKING:
    from deviate.core.experiment import Draw
    from deviate.report.views import View
    from deviate.report.writers.registry import Writer


class Styled(str):
    """A line with styles of ours in it, whose other parts are clean."""

    __slots__ = ()


def say(*lines: str, err: bool = False) -> None:
    """Print lines; what a terminal would obey is taken out of each of them."""
    for line in lines:
        click.echo(line if isinstance(line, Styled) else clean(line), err=err)


def say_json(text: str) -> None:
    """Print the object of ``--json``, all of it also where a signal comes meanwhile."""
    from deviate.core.interrupts import whole

    with whole():
        click.echo(text)


def shortened(text: str, before: int = 0) -> str:
    """Cut a text that starts behind `before` characters to the rest of the terminal's line; whole where there is none.

    >>> shortened("print(loss)")
    'print(loss)'
    """
    width = terminal_width()
    return text if width is None or before + len(text) <= width else f"{text[: max(width - before - 1, 0)]}…"


def terminal_width() -> int | None:
    """Return the width of the terminal; None where standard output is none, and nothing is cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def aligned(rows: Sequence[Sequence[str]], width: int | None = None, going: Sequence[int] = ()) -> list[str]:
    """Return the rows as lines with columns as wide as their widest cell; the last one is as it is.

    Where lines are longer than `width`, the columns `going`, by their places from the last to the first, go one after
    the other. What is still longer is cut, and ends in dots.

    >>> aligned([("a", "b"), ("long", "c")])
    ['a     b', 'long  c']
    >>> aligned([("a", "python train.py")], width=12)
    ['a  python t…']
    >>> aligned([("a", "higher is better", "train.py:7")], width=20, going=[2, 1])
    ['a  higher is better']
    """
    from rich.cells import cell_len

    for place in going if rows else ():
        columns = list(zip(*rows, strict=True))
        wide = sum(max(map(cell_len, column)) for column in columns) + 2 * (len(columns) - 1)
        if width is None or wide <= width:
            break
        rows = list(zip(*(column for at, column in enumerate(columns) if at != place), strict=True))

    *columns, last = zip(*rows, strict=True) if rows else [()]
    lines = ["  ".join(cells) for cells in zip(*columns_of(columns), last, strict=True)]
    return lines if width is None else [cut(line, width) for line in lines]


def folded(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return the rows as lines; what is wider than the terminal goes on below itself."""
    import textwrap

    wide, width = max((len(head) for head, _ in pairs), default=0) + 2, terminal_width() or 0
    lines = [(head, textwrap.wrap(text, max(width - wide, 20) if width else 10**6) or [""]) for head, text in pairs]
    return [f"{'' if at else head:{wide}}{part}" for head, parts in lines for at, part in enumerate(parts)]


def steps(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each command behind what it does; below it where one would be broken, so that it is copied."""
    lines, width = aligned(pairs), terminal_width()
    if width is None or max(map(len, lines), default=0) <= width:
        return lines
    return [line for name, command in pairs for line in (name, f"  {command}")]


def cut(line: str, width: int) -> str:
    """Return a line that has no more than `width` cells; a longer one ends in dots.

    >>> cut("python train.py", 9), cut("python", 9)
    ('python t…', 'python')
    """
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1)}…"


def columns_of(columns: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return columns whose cells are equally wide."""
    from rich.cells import cell_len, set_cell_size

    widths = [max(map(cell_len, column)) for column in columns]
    return [[set_cell_size(cell, wide) for cell in column] for column, wide in zip(columns, widths, strict=True)]


def listing(title: str, described: Mapping[str, str]) -> str:
    """Return a paragraph of a sub-command's help: a line for each name, with what it is."""
    width = max(map(len, described))
    return "\b\n" + "\n".join([f"{title}:", *(f"  {name:{width}}  {text}" for name, text in described.items())])


def examples(*commands: str) -> str:
    """Return the last paragraph of a sub-command's help: `commands` to type, a line each."""
    # click keeps the lines of a paragraph that begins with a backspace.
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])


# Standard streams that cannot fail in the middle of a job: a lost standard output is said, lost messages are not.


class ReaderGone(Exception):  # noqa: N818
    """Who read standard output (head, less) reads no more. No `BrokenPipeError`: libraries end the process on that."""


def guard_streams() -> None:
    """Make the standard streams of this process safe to write; those that tests have replaced are left alone.

    A descriptor that is closed would be given to the next file that is opened, and that file would be printed into.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free descriptor is taken, which is this one.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _guarded(sys.stdout, sys.__stdout__, 1, _Output)
    sys.stderr = _guarded(sys.stderr, sys.__stderr__, 2, _Messages)


def drop_output() -> None:
    """Send what is still to be written to standard output nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _guarded(stream: TextIO | None, original: TextIO | None, descriptor: int, kind: type[io.FileIO]) -> TextIO:
    if stream is None:
        return open(descriptor, "w", encoding="utf-8", closefd=False)
    if stream is not original or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(descriptor, "w", closefd=False)),
        encoding=stream.encoding,
        # A name that the terminal's encoding lacks is printed by its number.
        errors="backslashreplace",
        line_buffering=stream.line_buffering or descriptor == 2,
    )


class _Output(io.FileIO):
    """Standard output."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            drop_output()
            raise ReaderGone from None
        except OSError as error:
            raise OutputLost(
                f"standard output cannot be written: {error.strerror}",
                hint="what is stored is whole; type the command again with another output, or with -o FILE",
            ) from error


class _Messages(io.FileIO):
    """Standard error: a message that cannot be printed must not stop a training."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


# Seconds as people read them.


def show_duration(seconds: float) -> str:
    """Return seconds as people read them.

    >>> [show_duration(value) for value in (0.04, 3.21, 75, 3700)]
    ['0.0 s', '3.2 s', '1 min 15 s', '1 h 01 min']
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(math.floor(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def show_range(low: float, high: float) -> str:
    """Return the seconds between which durations lie; their unit once where it is the same.

    >>> show_range(7.46, 12.8), show_range(3.0, 3.04), show_range(12.0, 75.0)
    ('7.5 to 12.8 s', '3.0 s', '12.0 s to 1 min 15 s')
    """
    first, last = show_duration(low), show_duration(high)
    if first == last:
        return first
    return f"{first.removesuffix(' s') if last.count(' ') == 1 else first} to {last}"


# Bytes as people read them.


def show_size(size: float) -> str:
    """Return a number of bytes as people read it.

    >>> [show_size(value) for value in (0, 640, 2_900, 999_960, 4.2e6, 31e9)]
    ['0 bytes', '640 bytes', '2.9 kB', '1.0 MB', '4.2 MB', '31.0 GB']
    """
    if size < 1000:
        return f"{size:.0f} {'byte' if size == 1 else 'bytes'}"
    unit = next((each for each in ("kB", "MB") if (size := size / 1000) < 999.95), "GB")
    return f"{size if unit != 'GB' else size / 1000:.1f} {unit}"


# ``-o FILE``: what a command says, as a file.


def write_output(path: Path, parts: Iterable[str]) -> None:
    """Write text, which comes in parts, to `path` and say so on standard error.

    A file that is there stays as it was until the new one is whole. It is noted that this is no source of a training.

    Raises BadOption if the file cannot be written.
    """
    from deviate.runs.snapshot.manifest import note_written
    from deviate.store.files import write_parts

    try:
        if path.exists() and not path.is_file():
            # Such as /dev/stdout: a pipe or a device is written to, not replaced.
            with path.open("w", encoding="utf-8") as file:
                file.writelines(parts)
        else:
            write_parts(path.resolve(), (part.encode() for part in parts))
            note_written(path)
    except OSError as problem:
        raise BadOption(
            f"cannot write {path}: {problem.strerror}", hint="name a file in a folder that is there"
        ) from problem
    say(f"written to {path}", err=True)


def draws_text(draws: Sequence[Draw]) -> str:
    """Count draws by their factors, with how many of each names alone tell."""
    factors, named = Counter(draw.factor for draw in draws), Counter(draw.factor for draw in draws if draw.by_name)
    return ", ".join(
        f"{factor} {number}" + (f" ({named[factor]} by name alone)" if named[factor] else "")
        for factor, number in factors.items()
    )


Command = TypeVar("Command", bound=Callable[..., Any])


def output_options(formats: str) -> Callable[[Command], Command]:
    """Give a command ``--format``, which takes one of `formats`, and ``-o``."""

    def add(command: Command) -> Command:
        return click.option("--format", "format_name", help=formats)(_output("Write to this file.")(command))

    return add


def output_option(suffixes: str) -> Callable[[Command], Command]:
    """Give a command ``-o``, which writes in the format that one of `suffixes` names."""
    return _output(f"Write to this file, whose name ends in {suffixes}.")


def _output(text: str) -> Callable[[Command], Command]:
    return click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=text)


#: What the name of a file that holds a page, or its facts, may end in.
PAGE_SUFFIXES = ".txt, .md, .tex, .json or .html"


def json_option(command: Command) -> Command:
    """Give a command ``--json``, which is short for ``--format json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def set_option(command: Command) -> Command:
    """Give a command ``--set``; it gets what was typed as `settings`."""
    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="Say for this command what deviate.toml may say: entry=train.py, exclude=GLOB, factor=FILE:LINE=NAME, "
        "timeout=SECONDS, memory=GIB, container=IMAGE, gres=gpu:1; a wrong key lists all. Repeatable.",
    )(command)


def request_fields(settings: tuple[str, ...], project: Path | None) -> dict[str, Any]:
    """Return what the ``[run]`` table of deviate.toml and ``--set`` say, by the fields of a request."""
    from deviate.source.config import file_settings, read_settings

    return {**file_settings(project), **read_settings(settings)}


def format_named(format_name: str | None, *, as_json: bool) -> str | None:
    """Return the format that ``--format`` and ``--json`` name.

    Raises BadOption if they name two.
    """
    if as_json and (format_name or "json").strip().lower() != "json":
        raise BadOption("--json and --format say different things", hint="leave one out")
    return "json" if as_json else format_name


def verbose_option(command: Command) -> Command:
    """Give a command ``-v``."""
    return click.option("-v", "--verbose", is_flag=True, help="Print also what the answer rests on.")(command)


def show(
    view: View[Any],
    writer: Writer,
    output: Path | None,
    again: str,
    stem: str = "report",
    *,
    verbose: bool = False,
    following: Callable[[], Sequence[tuple[str, str]]] = tuple,
) -> None:
    """Write a view to the file, or print it; in a terminal with its width and colours, on one screen unless `verbose`.

    `again` is the command that shows the same, for a hint; `stem` is of the file that the hint names. A screen ends
    with what is typed next, behind the questions that it answers.
    Where nobody reads to the end (``| head``), the command goes on: its exit status is its answer.
    """
    if output is not None:
        write_output(output, written(view, writer))
        return
    with suppress(ReaderGone):
        if writer.name == "terminal":
            _print_screen(view, following, verbose=verbose)
        else:
            _print(view, writer, again, stem)


def _print_screen(view: View[Any], following: Callable[[], Sequence[tuple[str, str]]], *, verbose: bool) -> None:
    from rich.console import Console

    from deviate.report.page import Facts, Section
    from deviate.report.writers.terminal import print_page

    page = view.page("brief" if verbose else "screen")
    if not verbose and (pairs := following()):
        steps = Section(slug="next", blocks=[Facts(pairs=[*pairs], typed=True)])
        page = msgspec.structs.replace(page, sections=[*page.sections, steps])
    print_page(page, Console())


def _print(view: View[Any], writer: Writer, again: str, stem: str) -> None:
    with whole() if writer.name == "json" else nullcontext():
        for part in written(view, writer):
            click.echo(part.rstrip("\n"))
    if writer.name == "html":
        # Options end where the user's own command begins.
        words, dashes, command = again.partition(" -- ")
        say(f"to a file: {words} -o {stem}.html{dashes}{command}", err=True)


def written(view: View[Any], writer: Writer) -> Iterator[str]:
    """Return facts in a format, part by part; none is empty."""
    rendered = writer.render(view.page(writer.reader) if writer.reader else view.facts)
    return filter(None, [rendered] if isinstance(rendered, str) else rendered)
