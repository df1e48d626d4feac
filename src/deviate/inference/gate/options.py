"""What a gate is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from deviate.errors import BadOption
from deviate.inference.comparison.options import PairingMode
from deviate.inference.drops import Drop
from deviate.results.options import DEFAULTS, SampleOptions, option_words

#: What becomes of a metric about which too little is known.
Inconclusive = Literal["pass", "fail"]

DEFAULT_ALPHA = 0.05

#: Above it, claims would be wrong too often to be called claims.
LARGEST_ALPHA = 0.25


class GateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked, and how sure a claim must be."""

    #: By metric, in the order in which they are shown.
    drops: dict[str, Drop]
    #: Share of wrong claims of each kind.
    alpha: float = DEFAULT_ALPHA
    inconclusive: Inconclusive = "fail"
    #: Metric of the side that is checked -> its name on the other.
    matches: dict[str, str] = {}
    pairing: PairingMode = "auto"
    #: The largest rate of runs of A that may fail, in (0, 1); None: runs that are lost keep a metric from passing.
    max_failures: float | None = None
    #: The largest share of examples that A may label differently from B, in (0, 1); None: that is not checked.
    max_churn: float | None = None
    #: Files of groups of examples, or columns of the file of predictions that each run writes.
    groups: tuple[str, ...] = ()
    #: How much lower the accuracy on each group may be, a share in (0, 1); None: only a drop that is shown fails.
    max_group_drop: float | None = None
    #: How records become samples, on both sides.
    samples: SampleOptions = DEFAULTS


def check_options(options: GateOptions) -> None:
    """Refuse numbers and words that cannot be.

    Raises
    ------
    BadOption
        With the option at fault.
    """
    if not 0 < options.alpha <= LARGEST_ALPHA:
        raise BadOption(
            f"--alpha must be above 0 and at most {LARGEST_ALPHA:g}, found {options.alpha:g}", hint="type --alpha 0.05"
        )
    for option, share, example in (
        ("--max-failures", options.max_failures, "10%"),
        ("--max-churn", options.max_churn, "5%"),
        ("--max-group-drop", options.max_group_drop, "2%"),
    ):
        if share is not None and not 0 < share < 1:
            raise BadOption(
                f"{option} must lie between 0 and 1 (0% and 100%), found {share:g}",
                hint=f"type for example {option} {example}",
            )
    if options.max_group_drop is not None and not options.groups:
        raise BadOption("--max-group-drop is for groups of examples", hint="give --groups as well, or leave it out")


def check_command(a: str, against: str, options: GateOptions) -> list[str]:
    """Return the words of the command that asks the same.

    Examples
    --------
    >>> options = GateOptions(drops={"test acc": Drop(0.5)}, max_failures=0.1)
    >>> check_command("new", "base", options)[5:]
    ['--metric', 'test acc', '--max-drop', 'test acc=0.5', '--max-failures', '10%']
    """
    usual = GateOptions(drops={})
    shares = {name: getattr(options, name) for name in ("max_failures", "max_churn", "max_group_drop")}
    words = [
        *(word for metric, drop in options.drops.items() for word in _drop_words(metric, drop)),
        *((name, str(getattr(options, name))) for name in ("alpha", "inconclusive", "pairing")
          if getattr(options, name) != getattr(usual, name)),
        *((name.replace("_", "-"), f"{100 * share:.10g}%") for name, share in shares.items() if share is not None),
        *(("groups", source) for source in options.groups),
        *(("match", f"{metric}={other}") for metric, other in options.matches.items()),
    ]  # fmt: skip
    typed = [word for option, value in words for word in (f"--{option}", value)]
    return ["deviate", "check", a, "--against", against, *typed, *option_words(options.samples)]


def _drop_words(metric: str, drop: Drop) -> Sequence[tuple[str, str]]:
    """Name the metric also where no drop is allowed: that is how a check without --max-drop is typed."""
    allowed = [("max-drop", f"{metric}={drop.text}")] if drop.value else []
    return [("metric", metric), *allowed]
