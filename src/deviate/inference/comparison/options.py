"""What a comparison is asked for, and the command that asks for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import msgspec

from deviate.contrast.guards import fewest_runs
from deviate.contrast.multiplicity import CORRECTIONS, DEFAULT_CORRECTION, Correction
from deviate.contrast.power import DEFAULT_ALPHA
from deviate.errors import BadOption
from deviate.results.options import DEFAULTS, SampleOptions, option_words
from deviate.shell_words import typed_word

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

    @property
    def level(self) -> float:
        """Confidence level that belongs to `alpha`."""
        return 1 - self.alpha


def check_options(options: ComparisonOptions) -> None:
    """Refuse numbers and words that cannot be.

    Raises
    ------
    BadOption
        With the option at fault.
    """
    alpha = options.alpha
    if not 0 < alpha < 1:
        raise BadOption(f"alpha lies between 0 and 1, found {alpha:g}", hint="type --alpha 0.05, or --level 0.95")
    if options.correction not in CORRECTIONS:
        raise BadOption(
            f"--correction {options.correction!r} is none of {', '.join(CORRECTIONS)}", hint="type --correction holm"
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
            raise BadOption("--max says when to give up on --until", hint="type --until decided too, or leave it out")
    elif options.until != "decided":
        raise BadOption(f"--until {options.until!r} is not 'decided'", hint="type --until decided")
    elif options.most is not None and options.most < fewest:
        raise BadOption(
            f"--max {options.most} is too few for a verdict; expected {fewest} or more", hint="leave it out for 30"
        )


def comparison_command(names: Sequence[str], options: ComparisonOptions) -> list[str]:
    """Return the words of the command that asks the same.

    Examples
    --------
    >>> options = ComparisonOptions(alpha=0.01, groups=("sex",), samples=SampleOptions(aggregates={"test acc": "best"}))
    >>> comparison_command(["a", "b"], options)[3:]
    ['b', '--groups', 'sex', '--alpha', '0.01', '--aggregate', 'test acc=best']
    """
    usual = _plain(ComparisonOptions())
    named: dict[str, Mapping[str, object]] = {"match": options.matches, "margin": options.margins}
    return [
        "deviate", "compare", *names,
        *_each("metric", options.metrics),
        *_each("groups", options.groups),
        *(word for option, value in _plain(options).items() if value != usual[option]
          for word in (f"--{option}", str(value))),
        *(word for option, values in named.items()
          for word in _each(option, (f"{metric}={value}" for metric, value in values.items()))),
        *option_words(options.samples),
    ]  # fmt: skip


def _plain(options: ComparisonOptions) -> dict[str, object]:
    return {
        "alpha": f"{options.alpha:g}",
        "correction": options.correction,
        "pairing": options.pairing,
        "until": options.until,
        "max": options.most,
        "seed": options.seed,
    }


def _each(option: str, values: Iterable[str]) -> Iterable[str]:
    return (word for value in values for word in (f"--{option}", value))
