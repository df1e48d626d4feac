"""Figures of a section by metric, so that a reader of many chooses one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from deviate.report.figures import Figure
from deviate.report.writers.html.tables import Table

#: Metrics whose panels stand below each other; of more, one is shown and the reader chooses which.
STACKED = 1

NO_NOTES: Mapping[str, list[str]] = MappingProxyType({})


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """What a section shows of one metric; of none: it is on all."""

    metric: str
    figures: list[Figure] = []
    tables: list[Table] = []
    #: Sentences below them.
    notes: list[str] = []


class Panels(msgspec.Struct, frozen=True, kw_only=True):
    """The panels of a section."""

    general: list[Panel]
    by_metric: list[Panel]
    #: The metric that is shown first.
    first: str

    @property
    def chosen(self) -> bool:
        """Whether one is shown at a time."""
        return len(self.by_metric) > STACKED


def panels(
    figures: Iterable[Figure],
    tables: Sequence[tuple[str, Table]] = (),
    first: str = "",
    notes: Mapping[str, list[str]] = NO_NOTES,
) -> Panels:
    """Bring figures and tables on the same metric together, in the order in which metrics come.

    Parameters
    ----------
    figures : iterable of Figure
        Those of a section.
    tables : sequence of (str, Table), optional
        Tables by metric.
    first : str, optional
        The metric a reader wants to see before others.
    notes : mapping of str to list of str, optional
        Sentences by metric.
    """
    figures = list(figures)
    names = dict.fromkeys([*(metric for metric, _ in tables), *(figure.metric for figure in figures)])
    found = [
        Panel(
            metric=name,
            figures=[figure for figure in figures if figure.metric == name],
            tables=[table for metric, table in tables if metric == name],
            notes=notes.get(name, []),
        )
        for name in names
    ]
    return Panels(
        general=[panel for panel in found if not panel.metric],
        by_metric=[panel for panel in found if panel.metric],
        first=first,
    )
