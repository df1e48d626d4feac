"""``deviate compare``: whether one experiment is better than another, or noisier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.figures import check_figures, figure_options, write_figure_files
from deviate.cli.files import write_output
from deviate.cli.pairs import named_values
from deviate.errors import BadOption

if TYPE_CHECKING:
    from deviate.report.comparison.parts import Comparison


@click.command("compare")
@click.argument("names", nargs=-1, metavar="A B...")
@click.option("--metric", "metrics", multiple=True, help="Compare this metric of A only; repeatable.")
@click.option("--match", "matches", multiple=True, metavar="A=B", help="Metric A of the first is B of the others.")
@click.option("--alpha", type=float, help="Share of false alarms that is accepted.  [default: 0.05]")
@click.option("--level", type=float, help="Confidence level of the intervals, 1 - alpha.")
@click.option(
    "--correction",
    default="holm",
    show_default=True,
    help="For many tests, over metrics and pairs: holm, bonferroni, bh or none.",
)
@click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Smallest difference that matters: smaller ones can be shown to be equivalent.",
)
@click.option(
    "--direction", "directions", multiple=True, metavar="METRIC=higher|lower", help="Which values are better."
)
@click.option(
    "--aggregate",
    "aggregates",
    multiple=True,
    metavar="METRIC=AGGREGATE",
    help="How a run's values become one number: last, best, mean, max, min, area or 'at ITERATION'.",
)
@click.option(
    "--pairing",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="Compare runs of one index with each other; auto does if fingerprints prove that they share draws.",
)
@click.option("--seed", default=0, show_default=True, help="Of random arrangements and resamples.")
@click.option(
    "--format", "format_name", help="terminal, md, tex, json, html (a page with figures) or csv (one row a metric)."
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@figure_options
def command(
    names: tuple[str, ...],
    format_name: str | None,
    output: Path | None,
    as_json: bool,
    seed: int,
    figures: Path | None,
    figure_format: str | None,
    **asked: Any,
) -> None:
    """Say whether one experiment is better or noisier than another.

    A and B are each EXPERIMENT or EXPERIMENT:VARIANT. With more than two, all pairs are compared and the experiments
    are ranked.
    """
    from deviate import api
    from deviate.report.writers.comparison_formats import COMPARISON_FORMATS, find_comparison_format

    if as_json and (format_name or "json").strip().lower() != "json":
        raise BadOption("--json and --format say different things", hint="leave one away")
    chosen = find_comparison_format("json" if as_json else format_name, output)
    check_figures(figures, figure_format)
    comparison = api.compare(*names, seed=seed, **_options(asked))
    if figures is not None:
        from deviate.report.figures import comparison_figures

        write_figure_files(comparison_figures(comparison), figures, figure_format)
        if format_name is None and output is None and not as_json:
            return
    if output is not None:
        write_output(output, COMPARISON_FORMATS[chosen](comparison))
    else:
        _print(comparison, chosen)


def _options(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "alpha": _alpha(asked["alpha"], asked["level"]),
        "correction": asked["correction"].strip().lower(),
        "pairing": asked["pairing"],
        "metrics": list(asked["metrics"]),
        "matches": named_values("--match", asked["matches"], str, "'test acc=val_acc'"),
        "margins": named_values("--margin", asked["margins"], _number, "'test acc=0.5'"),
        "directions": named_values("--direction", asked["directions"], str.lower, "'reward=higher'"),
        "aggregates": named_values("--aggregate", asked["aggregates"], str, "'test acc=best'"),
    }


def _alpha(alpha: float | None, level: float | None) -> float:
    if level is not None and not 0 < level < 1:
        raise BadOption(f"--level must be between 0 and 1, found {level:g}", hint="type --level 0.95")
    if alpha is not None and not 0 < alpha < 1:
        raise BadOption(f"--alpha must be between 0 and 1, found {alpha:g}", hint="type --alpha 0.05")
    if alpha is not None and level is not None and abs(1 - level - alpha) > 1e-9:
        raise BadOption(
            f"--alpha {alpha:g} and --level {level:g} do not belong together", hint="give one: level is 1 - alpha"
        )
    if alpha is not None:
        return alpha
    # 1 - 0.95 is not 0.05 in binary.
    return 0.05 if level is None else round(1 - level, 12)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as problem:
        raise BadOption(f"{text!r} is no number", hint="type for example --margin 'test acc=0.5'") from problem


def _print(comparison: Comparison, format_name: str) -> None:
    """Print on standard output; in a terminal with its width and colours."""
    if format_name == "terminal":
        from rich.console import Console

        from deviate.report.writers.comparison_terminal import print_comparison

        print_comparison(comparison, Console())
        return
    from deviate.report.writers.comparison_formats import COMPARISON_FORMATS

    click.echo(COMPARISON_FORMATS[format_name](comparison).rstrip("\n"))
    if format_name == "html":
        click.echo(f"to a file: {comparison.command} -o comparison.html", err=True)
