"""Facts that show themselves: printed as the command line prints them, and as HTML in a notebook."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deviate.core.errors import BadOption
from deviate.report.page import AT_TERMINAL, Page, Reader

if TYPE_CHECKING:
    from deviate.facts.compared_metric import MetricComparison
    from deviate.facts.comparison import Comparison
    from deviate.facts.experiment import ExperimentFacts
    from deviate.facts.gate import Gate
    from deviate.facts.grid import Grid
    from deviate.facts.metric import MetricSpread
    from deviate.facts.plan import Plan
    from deviate.facts.variant import VariantFacts
    from deviate.observe.identity import RunValues
    from deviate.report.figures import Figure
    from deviate.report.writers.notebook import Figures

Facts = TypeVar("Facts")


class View(Generic[Facts]):
    """Facts with the pages they make; every field of the facts is one of the view.

    `make_figures` returns the figures; by default there are none.
    """

    def __init__(
        self, facts: Facts, make_page: Callable[[Reader], Page], make_figures: Callable[[], list[Figure]] = list
    ) -> None:
        self.facts = facts
        self._make_page = make_page
        self._make_figures = make_figures

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "facts":
            raise AttributeError(name)
        return getattr(self.facts, name)

    def __repr__(self) -> str:
        from deviate.report.writers.terminal import render_terminal

        return render_terminal(self.page("brief")).rstrip("\n")

    def _repr_html_(self) -> str:
        from deviate.report.writers.notebook import render_notebook

        return render_notebook(self.page("brief"))

    def page(self, reader: Reader = "full") -> Page:
        """Return the page for a reader, see `deviate.report.page.Reader`."""
        return self._make_page(reader)

    def drawn(self) -> list[Figure]:
        """Return every figure as data."""
        return self._make_figures()

    def figures(self) -> Figures:
        """Return every figure as an Altair chart, by slug."""
        from deviate.report.writers.notebook import Figures

        return Figures(self.drawn())


class VariantView(View["VariantFacts"]):
    """One variant of an experiment; ``variant["test loss"]`` has all of one metric."""

    facts: VariantFacts

    def __getitem__(self, metric: str) -> MetricSpread:
        return self.facts[metric]


class ComparisonView(View["Comparison"]):
    """A comparison; of two sides `verdict`, `p`, `difference` and `interval` are those of what is claimed."""

    def __getitem__(self, metric: str) -> MetricComparison:
        """Return one metric of two sides.

        Raises BadOption with the metrics there are, if it is none of them; with the pairs, if there are more than two
        sides.
        """
        from deviate.lexicon.words import find_name

        (pair, *others) = self.facts.pairs
        if others:
            raise BadOption(
                f"{len(self.facts.labels)} sides are compared, so no metric has one value",
                hint="take one of `pairs`: each has its `metrics`",
            )
        names = [each.name for each in pair.metrics]
        return pair.metrics[names.index(find_name(metric, names))]

    @property
    def main(self) -> MetricComparison:
        """The metric that a verdict is claimed for, the first if there are several.

        Raises BadOption if none is claimed, or there are more than two sides.
        """
        if not self.facts.claimed:
            raise BadOption("no metric is claimed", hint="name one: compare(..., metrics=['test acc'])")
        return self[self.facts.claimed[0]]

    @property
    def verdict(self) -> str:
        """As in JSON: ``b better``, ``no difference shown`` and so on."""
        return self.main.verdict

    @property
    def p(self) -> float | None:
        """The p that decides, adjusted; None where nothing could be tested."""
        return self.main.deciding_p

    @property
    def difference(self) -> float | None:
        """Mean of the second side minus that of the first, in the unit of the metric; None where it is unknown."""
        value = self.main.contrast.difference.value
        return None if value is None else -value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Confidence interval of the difference; None where it is unknown."""
        found = self.main.contrast.difference.interval
        return None if found.low is None or found.high is None else (-found.high, -found.low)


def experiment_view(
    facts: ExperimentFacts, recorded: Mapping[str, Mapping[int, RunValues]] | None = None, *, curve_lines: bool = False
) -> View[ExperimentFacts]:
    """Return the view of an experiment.

    Without `recorded`, see `deviate.facts.stored.Results`, no learning curve is shown; with `curve_lines` brief
    pages show some, too.
    """
    from deviate.facts.curves import Curves, curves_of
    from deviate.report.topics.experiment import experiment_page

    @functools.cache
    def curves() -> Curves | None:
        return None if recorded is None else curves_of(facts, recorded)

    def page(reader: Reader) -> Page:
        return experiment_page(facts, reader, curves() if reader not in AT_TERMINAL or curve_lines else None)

    def figures() -> list[Figure]:
        from deviate.report.topics.curves import experiment_figures
        from deviate.report.topics.experiment import plain_curves, plain_facts

        return experiment_figures(plain_facts(facts), plain_curves(curves()))

    return View(facts, page, figures)


def why_view(facts: ExperimentFacts) -> View[ExperimentFacts]:
    """Return the view of why the runs of an experiment differ: on a screen what makes them, else all of a report."""
    from deviate.report.topics.experiment import experiment_page, why_page

    return View(facts, lambda reader: why_page(facts) if reader == "screen" else experiment_page(facts, reader))


def comparison_view(facts: Comparison, made: Callable[[], Mapping[str, ExperimentFacts]] = dict) -> ComparisonView:
    """Return the view of a comparison; `made` reads how the runs of each side were made, which a paper says."""
    from deviate.report.topics.comparison import comparison_page

    def figures() -> list[Figure]:
        from deviate.report.topics.comparison_figure import comparison_figures

        return comparison_figures(facts)

    return ComparisonView(facts, lambda reader: comparison_page(facts, reader, made), figures)


def grid_view(facts: Grid, made: Callable[[], Mapping[str, ExperimentFacts]] = dict) -> View[Grid]:
    """Return the view of the cells of a grid; `made` reads how their runs were made, which a paper says."""
    from deviate.report.topics.grid import grid_figures, grid_page

    return View(facts, lambda reader: grid_page(facts, reader, made), lambda: grid_figures(facts))


def gate_view(facts: Gate) -> View[Gate]:
    """Return the view of a gate."""
    from deviate.report.topics.gate import gate_page

    def figures() -> list[Figure]:
        from deviate.report.topics.gate import gate_figures

        return gate_figures(facts)

    return View(facts, lambda reader: gate_page(facts, reader), figures)


def plan_view(facts: Plan) -> View[Plan]:
    """Return the view of a plan."""
    from deviate.report.topics.plan import plan_page

    def figures() -> list[Figure]:
        from deviate.report.topics.plan import plan_figure

        return [plan_figure(facts)]

    return View(facts, lambda reader: plan_page(facts, reader), figures)


#: Views with a page and no figures: by the class of their facts, the topic and the function that makes the page.
_PAGES = {
    "Audit": "audit.audit_page",
    "Certified": "certificate.certified_page",
    "Divergence": "diverge.divergence_page",
    "Fixed": "certificate.fixed_page",
    "Judged": "judge.judged_page",
    "Likened": "certificate.likened_page",
    "Loop": "judge.baseline_page",
    "Priced": "certificate.priced_page",
    "Resumed": "certificate.resumed_page",
    "Target": "gate_lines.target_page",
    "Verification": "audit.verification_page",
}


def page_view(facts: Facts) -> View[Facts]:
    """Return the view of facts that have a page of their own and no figures, such as those of an audit."""
    topic, _, name = _PAGES[type(facts).__name__].partition(".")
    make = getattr(import_module(f"deviate.report.topics.{topic}"), name)
    return View(facts, lambda reader: make(facts, reader))
