"""What a comparison and a gate are asked for, and the command that asks for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import msgspec

from deviate.core.errors import BadOption
from deviate.core.shell_words import typed_word
from deviate.facts.samples import DEFAULTS, SampleOptions, option_words
from deviate.stats.multiplicity import CORRECTIONS, DEFAULT_CORRECTION, Correction
from deviate.stats.power import DEFAULT_ALPHA
from deviate.stats.results import fewest_runs

#: Whether runs of one index are compared with each other; ``auto``: if fingerprints prove that they share draws.
PairingMode = Literal["auto", "on", "off"]


#: Runs per side at the last look of ``--until decided``, where the user does not say.
DEFAULT_MOST = 30


class ComparisonOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared, and how sure a claim must be."""

    alpha: float = DEFAULT_ALPHA
    correction: Correction = DEFAULT_CORRECTION
    #: Metric of the first side -> its name on the other sides.
    matches: dict[str, str] = {}
    #: The smallest difference that matters, by metric of the first side.
    margins: dict[str, float] = {}
    #: Names on the first side; empty for all.
    metrics: list[str] = []
    pairing: PairingMode = "auto"
    #: ``decided``: compare growing sides until a difference is shown, or they have `most` runs each.
    until: Literal["decided"] | None = None
    most: int | None = None
    #: With `until`: the first side grows, and the others have all their runs.
    first_grows: bool = False
    #: Of every random draw.
    seed: int = 0
    #: How records become samples, on every side.
    samples: SampleOptions = DEFAULTS
    #: Files of groups of examples, or columns of the file of predictions that each run writes.
    groups: tuple[str, ...] = ()
    #: The metrics are tasks on one scale, and the sides are compared over all of them, too.
    tasks: bool = False
    #: Levels at which the interval of a difference is given, that of `alpha` among them; empty: at that one alone.
    levels: tuple[float, ...] = ()

    @property
    def level(self) -> float:
        """Confidence level that belongs to `alpha`."""
        return 1 - self.alpha


def check_options(options: ComparisonOptions) -> None:
    """Refuse numbers and words that cannot be.

    Raises BadOption with the option at fault.
    """
    alpha = options.alpha
    if not 0 < alpha < 1:
        raise BadOption(f"alpha lies between 0 and 1, found {alpha:g}", hint="type --set alpha=0.05, or --level 0.95")
    for level in options.levels:
        if not 0 < level < 1:
            raise BadOption(f"--level must be between 0 and 1, found {level:g}", hint="type --level 0.95")
    if options.correction not in CORRECTIONS:
        raise BadOption(
            f"correction {options.correction!r} is none of {', '.join(CORRECTIONS)}", hint="type --set correction=holm"
        )
    if options.pairing not in get_args(PairingMode):
        raise BadOption(f"--pairing {options.pairing!r} is none of auto, on, off", hint="type --pairing auto")
    for metric, margin in options.margins.items():
        if not (margin > 0 and math.isfinite(margin)):
            raise BadOption(
                f"--margin {metric}={margin:g}: a margin is a number above 0",
                hint=f"give the smallest difference that matters: --margin {typed_word(f'{metric}=0.5')}",
            )
    _check_until(options)


def _check_until(options: ComparisonOptions) -> None:
    fewest = fewest_runs(options.alpha)
    if options.until is None:
        if options.most is not None:
            raise BadOption(
                "--set max says when to give up on --until", hint="type --until decided too, or leave it out"
            )
    elif options.until != "decided":
        raise BadOption(f"--until {options.until!r} is not 'decided'", hint="type --until decided")
    elif options.most is not None and options.most < fewest:
        raise BadOption(
            f"--set max={options.most} is too few for a verdict; expected {fewest} or more", hint="leave it out for 30"
        )


def comparison_command(names: Sequence[str], options: ComparisonOptions) -> list[str]:
    """Return the words of the command that asks the same.

    >>> options = ComparisonOptions(alpha=0.01, groups=("sex",), samples=SampleOptions(aggregates={"test acc": "best"}))
    >>> comparison_command(["a", "b"], options)[3:]
    ['b', '--set', 'groups=sex', '--set', 'alpha=0.01', '--set', 'aggregate=test acc=best']
    """
    usual = _plain(ComparisonOptions())
    return [
        "deviate", "compare", *names,
        *_each("--metric ", options.metrics),
        *_each("--level ", (f"{level:g}" for level in options.levels)),
        *_each("--set groups=", options.groups),
        *(word for option, value in _plain(options).items() if value != usual[option]
          for word in _each(option, [str(value)])),
        *_each("--set match=", (f"{metric}={other}" for metric, other in options.matches.items())),
        *_each("--margin ", (f"{metric}={margin}" for metric, margin in options.margins.items())),
        *option_words(options.samples),
    ]  # fmt: skip


def _plain(options: ComparisonOptions) -> dict[str, object]:
    return {
        "--set alpha=": f"{options.alpha:g}",
        "--set correction=": options.correction,
        "--pairing ": options.pairing,
        "--until ": options.until,
        "--set max=": options.most,
        "--set seed=": options.seed,
        "--set tasks=": "true" if options.tasks else "false",
    }


def _each(option: str, values: Iterable[str]) -> Iterable[str]:
    """Return the words of an option for each value, of ``--metric `` or of ``--set groups=``."""
    name, _, key = option.partition(" ")
    return (word for value in values for word in (name, f"{key}{value}"))


# By how much metrics may get worse, as it is typed.

_DROP = re.compile(r"(?P<value>\d*\.?\d+(?:e[-+]?\d+)?)\s*(?P<percent>%?)", re.IGNORECASE)

#: For errors: how drops are typed.
DROP_HINT = "type for example --metric 'val acc' --max-drop 0.5, or --max-drop 'val acc=2%'"


class Drop(msgspec.Struct, frozen=True):
    """By how much a metric may get worse."""

    value: float = 0.0
    #: `value` is a share of the mean of the side that is checked against.
    relative: bool = False

    @property
    def text(self) -> str:
        """As it is typed."""
        return f"{100 * self.value:.10g}%" if self.relative else f"{self.value:.10g}"


def parse_drop(text: str) -> Drop:
    """Read ``0.5`` or ``2%``.

    Raises BadOption if it is no number of at least 0.

    >>> parse_drop("2%"), parse_drop("0.5")
    (Drop(value=0.02, relative=True), Drop(value=0.5, relative=False))
    """
    drop = find_drop(text)
    if drop is None:
        raise BadOption(f"--max-drop {text!r} is no number of at least 0", hint=DROP_HINT)
    return drop


def find_drop(text: str) -> Drop | None:
    """Read a number of at least 0, with or without ``%``; None where it is none."""
    match = _DROP.fullmatch(text.strip())
    value = math.inf if match is None else float(match["value"])
    if match is None or not math.isfinite(value):
        return None
    return Drop(value / 100, True) if match["percent"] else Drop(value, False)


def parse_drops(metrics: Sequence[str], texts: Sequence[str]) -> dict[str, Drop]:
    """Join metrics and drops: those without a name go with the metrics in their order, one for each.

    Raises BadOption if there are not as many of them, or a metric is named twice.

    >>> parse_drops(["val acc", "loss"], ["0.5", "2%"])["loss"].text
    '2%'
    >>> parse_drops(["val acc"], ["loss=0.01"])
    {'val acc': Drop(value=0.0, relative=False), 'loss': Drop(value=0.01, relative=False)}
    """
    named = dict(_named(text) for text in texts if "=" in text)
    plain = [parse_drop(text) for text in texts if "=" not in text]
    if len(set(metrics)) < len(metrics) or len(named) < sum("=" in text for text in texts):
        raise BadOption("a metric is named twice", hint=DROP_HINT)
    unnamed = [metric for metric in metrics if metric not in named]
    if plain and not metrics:
        raise BadOption(f"--max-drop {plain[0].text!r} names no metric", hint=DROP_HINT)
    if plain and len(plain) != len(unnamed):
        given = next(text for text in texts if "=" not in text)
        if not unnamed:
            raise BadOption(f"--max-drop {given!r} names no metric", hint=DROP_HINT)
        raise BadOption(
            f"expected one --max-drop for each --metric, found {len(plain)} for {len(unnamed)}",
            hint="give them in the same order, or name the metric: --max-drop 'val acc=0.5'",
        )
    drops = dict(zip(unnamed, plain or [Drop()] * len(unnamed), strict=True))
    return {name: {**drops, **named}[name] for name in dict.fromkeys([*metrics, *named])}


def _named(text: str) -> tuple[str, Drop]:
    name, _, drop = text.rpartition("=")
    if not name.strip():
        raise BadOption(f"--max-drop {text!r} names no metric", hint=DROP_HINT)
    return name.strip(), parse_drop(drop)


# What a gate is asked for.

#: What becomes of a metric about which too little is known.
Inconclusive = Literal["pass", "fail"]

GATE_ALPHA = 0.05

#: Above it, claims would be wrong too often to be called claims.
LARGEST_ALPHA = 0.25


class GateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked, and how sure a claim must be."""

    #: By metric, in the order in which they are shown.
    drops: dict[str, Drop]
    #: Share of wrong claims of each kind.
    alpha: float = GATE_ALPHA
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


def check_gate_options(options: GateOptions) -> None:
    """Refuse numbers and words that cannot be.

    Raises BadOption with the option at fault.
    """
    if not 0 < options.alpha <= LARGEST_ALPHA:
        raise BadOption(
            f"alpha must be above 0 and at most {LARGEST_ALPHA:g}, found {options.alpha:g}",
            hint="type --set alpha=0.05",
        )
    for option, share, example in (
        ("--max-failures ", options.max_failures, "10%"),
        ("--set max_churn=", options.max_churn, "5%"),
        ("--set max_group_drop=", options.max_group_drop, "2%"),
    ):
        if share is not None and not 0 < share < 1:
            raise BadOption(
                f"{option.rstrip(' =')} must lie between 0 and 1 (0% and 100%), found {share:g}",
                hint=f"type for example {option}{example}",
            )
    if options.max_group_drop is not None and not options.groups:
        raise BadOption("max_group_drop is for groups of examples", hint="type --set groups=FILE, too, or leave it out")


def check_command(a: str, against: str, options: GateOptions) -> list[str]:
    """Return the words of the command that asks the same.

    >>> options = GateOptions(drops={"test acc": Drop(0.5)}, max_failures=0.1)
    >>> check_command("new", "base", options)[5:]
    ['--metric', 'test acc', '--max-drop', 'test acc=0.5', '--max-failures', '10%']
    """
    usual = GateOptions(drops={})
    plain = {"alpha": "--set alpha=", "inconclusive": "--set inconclusive=", "pairing": "--set pairing="}
    shares = {
        "--max-failures ": options.max_failures,
        "--set max_churn=": options.max_churn,
        "--set max_group_drop=": options.max_group_drop,
    }
    words = [
        *(word for metric, drop in options.drops.items() for word in _drop_words(metric, drop)),
        *((option, str(getattr(options, name))) for name, option in plain.items()
          if getattr(options, name) != getattr(usual, name)),
        *((option, f"{100 * share:.10g}%") for option, share in shares.items() if share is not None),
        *(("--set groups=", source) for source in options.groups),
        *(("--set match=", f"{metric}={other}") for metric, other in options.matches.items()),
    ]  # fmt: skip
    typed = [word for option, value in words for word in _each(option, [value])]
    return ["deviate", "check", a, "--against", against, *typed, *option_words(options.samples)]


def _drop_words(metric: str, drop: Drop) -> Sequence[tuple[str, str]]:
    """Name the metric also where no drop is allowed: that is how a check without --max-drop is typed."""
    allowed = [("--max-drop ", f"{metric}={drop.text}")] if drop.value else []
    return [("--metric ", metric), *allowed]
