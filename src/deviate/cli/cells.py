"""``deviate run`` without a command: the experiments that ``deviate.toml`` lists.

The map of a grid whose runs go on: what each cell shows so far, and how much is left of all.
"""

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
    from deviate.report.page import Page
    from deviate.runs.cells import CellMade, CellsMade
    from deviate.runs.experiment_events import StudyEvent
    from deviate.source.cells import Cell


import time
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.live import Live
from rich.text import Text

from deviate.cli.live_screen import BLANK, LiveScreen
from deviate.cli.printing import columns_of, cut
from deviate.cli.progress import Progress
from deviate.core.interrupts import at_any_end
from deviate.report.escape import clean
from deviate.report.numbers import about_seconds, value_texts
from deviate.report.topics.grid_map import MOST_BELOW, MOST_SIDE_BY_SIDE, laid_out
from deviate.runs.events import left_together
from deviate.runs.experiment_events import StudyEvent

if TYPE_CHECKING:
    from deviate.source.cells import Cell


#: Runs of a cell that have a sign each; more are counted.
MOST_SIGNS = 8


def grid_screen(cells: Sequence[Cell]) -> GridScreen | None:
    """Return what draws the cells, where they are one grid and a terminal hears of them."""
    console = Console(stderr=True)
    is_grid = len({cell.entry.name for cell in cells}) == 1 and all(cell.settings for cell in cells)
    return GridScreen(cells, console) if console.is_terminal and is_grid else None


class GridScreen:
    """Follows all cells of one grid, and draws them as a map that is kept up to date."""

    def __init__(self, cells: Sequence[Cell], console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.cells, self.console = cells, console
        self._clock, self._begun = clock, clock()
        self.followed: dict[str, Progress] = {}
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    @contextmanager
    def drawn(self) -> Iterator[GridScreen]:
        """Draw while cells go on; the cursor, which is hidden meanwhile, comes back at any end."""
        with at_any_end(self._live.stop):
            self._live.start()
            yield self

    def follow(self, cell: Cell, progress: Progress) -> Callable[[StudyEvent], None]:
        """Return what hears of the runs of a cell."""
        self.followed[cell.name] = progress

        def observe(event: StudyEvent) -> None:
            progress.observe(event)
            self._live.update(Text("\n".join(self.lines()), no_wrap=True, overflow="crop"))

        return observe

    def lines(self) -> list[str]:
        """Return what is drawn."""
        width = self.console.width
        table = self._map()
        if not table or any(cell_len(line) > width for line in table):
            table = self._going()
        return [cut(line, width) for line in (self._title(), *table, self._count())]

    @property
    def _begun_cells(self) -> list[Progress]:
        return [each for each in self.followed.values() if each.runs.experiment is not None]

    @property
    def _runs_each(self) -> int:
        return max((self._screen(each).total for each in self._begun_cells), default=0)

    def _title(self) -> str:
        runs = f" × {count(self._runs_each, 'run')}" if self._runs_each else ""
        jobs = max((each.time.jobs for each in self._begun_cells), default=1)
        at_a_time = f", {jobs} at a time" if jobs > 1 else ""
        return f"{clean(self.cells[0].entry.name)}   {count(len(self.cells), 'cell')}{runs}{at_a_time}"

    def _map(self) -> list[str]:
        """Lay the cells out by two of their factors; nothing where there is but one row, or too many."""
        settings = [(cell.name, {key: str(value) for key, value in cell.settings.items()}) for cell in self.cells]
        factors = {key: list(dict.fromkeys(each[key] for _, each in settings)) for key in settings[0][1]}
        laid = laid_out(settings, factors, (MOST_SIDE_BY_SIDE, MOST_BELOW))
        if laid is None:
            return []
        metric = next((name for each in self._begun_cells for name in self._screen(each).metrics[:1]), "")
        columns = [[clean(metric), *laid.below]]
        for level in laid.levels:
            names = [laid.cells.get((row, level)) for row in laid.below]
            columns.append([f"{laid.across} {level}", *(self._cell(name) if name else "" for name in names)])
        return [BLANK.join(cells).rstrip() for cells in zip(*columns_of(columns), strict=True)]

    def _going(self) -> list[str]:
        going = [cell for cell in self.cells if (each := self.followed.get(cell.name)) and each.runs.going]
        labels = [clean(cell.label.replace("=", " ").replace(",", ", ")) for cell in going]
        return [BLANK.join((label, self._cell(cell.name))) for label, cell in zip(labels, going, strict=True)]

    def _screen(self, progress: Progress) -> LiveScreen:
        return progress.runs.screen(progress.time)

    def _cell(self, name: str) -> str:
        """Write the mean so far, and a sign for each run: ended, going on, to be made."""
        progress = self.followed.get(name)
        if progress is None or progress.runs.experiment is None:
            return "○" * self._runs_each if self._runs_each <= MOST_SIGNS else f"0/{self._runs_each}"
        screen = self._screen(progress)
        mean = sum(screen.results) / len(screen.results) if screen.results else None
        number = value_texts([mean], screen.decimals.get(screen.metrics[0]))[0] + " " if mean is not None else ""
        going = len(screen.going)
        if screen.total > MOST_SIGNS:
            return f"{number}{screen.done}/{screen.total}"
        return f"{number}{'●' * screen.done}{'◐' * going}{'○' * max(screen.total - screen.done - going, 0)}"

    def _count(self) -> str:
        screens = [self._screen(each) for each in self._begun_cells]
        done, going = sum(screen.done for screen in screens), sum(len(screen.going) for screen in screens)
        unbegun = (len(self.cells) - len(self.followed)) * self._runs_each
        total = sum(screen.total for screen in screens) + unbegun
        left = left_together([each.time for each in self._begun_cells], unbegun)
        failed = sum(screen.failed for screen in screens)
        parts = [
            f"{done} of {total} done{f' ({failed} failed)' if failed else ''}{f', {going} running' if going else ''}",
            about_seconds(self._clock() - self._begun),
            f"about {about_seconds(left)} left" if left else "",
        ]
        return "   ".join(filter(None, parts))


#: Options that say which cells are meant, not how they are made.
_WHICH = ("command", "name", "project")

#: What is said of a cell by its state.
STATES = {"done": "done before", "made": "made", "failed": "not complete", "busy": "another deviate works on it"}


def run_cells(options: Mapping[str, Any], settings: Mapping[str, Any], *, as_json: bool) -> int:
    """Make what is missing; return the exit status."""
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
