"""A shown value that is a metric, before it has its final name."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from deviate.analyse.index import Unit
from deviate.analyse.judge import Verdict
from deviate.analyse.sinks import Report
from deviate.analyse.spans import text_of
from deviate.analyse.texts import Shown, dotted_text
from deviate.experiment import Capture


@dataclass(eq=False)
class Finding:
    """A shown value that is a metric, before it has its final name."""

    shown: Shown
    report: Report
    verdict: Verdict
    variable: str
    name: str
    capture: Capture | None
    confidence: float
    #: Part of the data it is of, where name or conditions tell.
    split: str = ""
    #: Settings that must be chosen for the report to run.
    switches: int = 0
    #: Other names under which the same value is reported, with where.
    aliases: list[str] = field(default_factory=list)
    #: Reported by code that neither runs within the main loop nor after it.
    aside: bool = False
    #: Reported only where the training gives up.
    alarm: bool = False
    #: Where the report stands, as part of a sentence.
    where: str = "outside the main loop"

    @property
    def unit(self) -> Unit:
        """Function whose code reports."""
        return self.report.scope.unit

    @property
    def expression(self) -> str:
        """Text of what is shown, with the attributes that a format text reads."""
        text = text_of(self.shown.expr)
        return f"{text}.{self.shown.reads}" if self.shown.reads and dotted_text(self.shown.expr) else text

    @property
    def is_share(self) -> bool:
        """Whether arithmetic makes a share of a count: ``100 * correct / total`` says more than ``correct``."""
        meaning = self.verdict.meaning
        is_computed = isinstance(self.shown.expr, ast.BinOp)
        return is_computed and meaning is not None and meaning.direction == "higher"
