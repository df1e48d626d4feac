"""The map of a grid whose runs go on: what each cell shows so far, and how much is left of all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from deviate.report.words import count
from deviate.runs.events import StudyEvent, left_together

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
