"""``deviate run`` without a command: the experiments that ``deviate.toml`` lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from deviate.cli.printing import aligned, say, say_json
from deviate.core.experiment import AT
from deviate.core.shell_words import typed_word
from deviate.report.words import count

if TYPE_CHECKING:
    from deviate.cli.grid_screen import GridScreen
    from deviate.report.page import Page
    from deviate.runs.cells import CellMade, CellsMade
    from deviate.runs.events import StudyEvent
    from deviate.source.cells import Cell


#: Options that say which cells are meant, not how they are made.
_WHICH = ("command", "name", "project")

#: What is said of a cell by its state.
STATES = {"done": "done before", "made": "made", "failed": "not complete", "busy": "another deviate works on it"}


def run_cells(options: Mapping[str, Any], settings: Mapping[str, Any], *, as_json: bool) -> int:
    """Make what is missing; return the exit status."""
    from deviate.cli.grid_screen import grid_screen
    from deviate.cli.progress import Progress, left_lines
    from deviate.facts.referee import Referee
    from deviate.runs.cells import make_cells
    from deviate.runs.request import Request

    which = Request(**{name: options[name] for name in _WHICH})
    scripts: list[str] = []
    screens: list[GridScreen] = []

    @contextmanager
    def begin(cell: Cell, number: int, cells: Sequence[Cell], beside: bool) -> Iterator[Callable[[StudyEvent], None]]:
        """Show the runs of a cell while they go on."""
        if number == 1 and beside and (screen := grid_screen(cells)) is not None:
            screens.append(drawn.enter_context(screen.drawn()))
        if not screens:
            say(f"{cell.name} ({number} of {len(cells)})", err=True)
        console = screens[0].console if screens else None
        with Progress(console, label=cell.label if beside else "") as progress:
            yield screens[0].follow(cell, progress) if screens else progress.observe
        scripts.extend(progress.scripts)

    fields = {**typed(options, _WHICH), **settings}
    with ExitStack() as drawn:
        made = make_cells(which, fields, begin, Referee(), lambda left: say(*left_lines(left), err=True))
    if options["print_script"] and not any(cell.problem for cell in made.cells):
        click.echo("\n".join(scripts), nl=False)
        return 0
    if as_json:
        say_json(msgspec.json.encode(made).decode())
    else:
        page = _map(made, which.project)
        if page is not None:
            from rich.console import Console

            from deviate.report.writers.terminal import print_page

            print_page(page, Console())
        say(*cells_lines(made, listed=page is None))
    return 0 if made.complete else 1


def typed(options: Mapping[str, Any], but: Sequence[str] = ()) -> dict[str, Any]:
    """Return the options that were typed: only these replace what the file says."""
    context = click.get_current_context()
    source = click.core.ParameterSource.COMMANDLINE
    return {
        name: value
        for name, value in options.items()
        if name not in but and context.get_parameter_source(name) == source
    }


def _map(made: CellsMade, project: Path | None) -> Page | None:
    """Return the map of a grid whose runs have all completed; None where there is more than the one grid, or no map."""
    from deviate.facts.grid import read_made
    from deviate.report.topics.grid import made_page
    from deviate.store.folders import Workspace

    grids = {cell.experiment.partition(AT)[0] for cell in made.cells}
    if not made.complete or len(grids) > 1 or not all(cell.settings for cell in made.cells):
        return None
    grid = read_made(Workspace.nearest((project or Path()).absolute()), next(iter(grids)))
    return made_page(grid) if grid is not None else None


def cells_lines(made: CellsMade, *, listed: bool = True) -> Iterator[str]:
    """Return a line for each cell if `listed`, what went wrong, how much was trained, and what to type next."""
    rows = [(cell.experiment, f"{cell.completed}/{cell.planned}", STATES[cell.state]) for cell in made.cells]
    yield from aligned([("experiment", "runs", ""), *rows]) if listed else ()
    for cell in made.cells:
        if cell.problem:
            yield f"{cell.experiment}: {cell.problem}"
            yield f"  fix: {cell.hint}"
    yield ""
    yield _summary(made)
    yield f"next  {_next(made.cells)}"


def _summary(made: CellsMade) -> str:
    if made.complete and not made.trained and not any(cell.evaluated for cell in made.cells):
        return f"Nothing was trained: all that {made.file} asks for is done."
    evaluated = sum(cell.evaluated for cell in made.cells)
    later = f", {count(evaluated, 'run')} evaluated that had been trained before" if evaluated else ""
    rest = "" if made.complete else "; the same command makes what is missing, --retry-failed also what failed"
    return f"{count(made.trained, 'run')} trained{later}{rest}."


def _next(cells: Sequence[CellMade]) -> str:
    grids = dict.fromkeys(cell.experiment.partition(AT)[0] for cell in cells if cell.settings)
    return (
        f"deviate compare {typed_word(next(iter(grids)))}"
        if grids
        else f"deviate report {typed_word(cells[0].experiment)}"
    )
