"""What repeated looks and runs that ``--until`` ended do to a verdict, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deviate.inference.comparison.comparison import Comparison, PairComparison
from deviate.inference.comparison.looks import PairLook
from deviate.report.numbers import show_percent
from deviate.report.text.words import count, listed

#: Looks whose runs are listed.
LOOKS_LISTED = 4


def look_sentences(pair: PairComparison, comparison: Comparison) -> list[str]:
    """Say which look a comparison is, what p must be below at it, and why; nothing where it is the first and only."""
    return [
        *_stopped(pair.look, comparison.alpha),
        *_look(pair.look),
        *_plan(pair, comparison),
        *_unrecorded(pair),
    ]


def limit_text(pair: PairComparison, comparison: Comparison) -> str:
    """Write what p must be below beside it, where that is not alpha."""
    if pair.alpha == comparison.alpha:
        return ""
    at = f" at look {pair.look.number}" if pair.look.number > 1 else ""
    return f", limit {pair.alpha:.2g}{at}"


def _stopped(look: PairLook, alpha: float) -> Iterator[str]:
    if look.stopped_alpha is None:
        return
    yield (
        f"`deviate run --until` ended the runs of {listed(look.stopped)} when they looked alike, which makes SDs look "
        f"small: p must be below {look.stopped_alpha:.2g} instead of {alpha:g}. False alarms are then "
        f"{show_percent(alpha)} or fewer, and up to twice as many if values are skewed."
    )


def _look(look: PairLook) -> Iterator[str]:
    if look.number < 2:
        return
    runs = runs_at_looks(look.sizes)
    if look.settled is not None:
        yield (
            f"This is look {look.number} at these experiments as they grow ({runs}). A difference was shown at look "
            f"{look.settled}, so p must be below {look.alpha:.2g} only."
        )
        return
    yield (
        f"This is look {look.number} at these experiments as they grow ({runs}): at this look p must be below "
        f"{look.alpha:.2g}, so that false alarms over all looks stay at {show_percent(look.whole)} or fewer."
    )


def runs_at_looks(sizes: Sequence[tuple[int, int]]) -> str:
    """Write the runs at each look; of many looks the first and the last ones."""
    texts = [f"{n} against {m}" for n, m in sizes]
    shown = texts if len(texts) <= LOOKS_LISTED else [texts[0], "…", *texts[-2:]]
    return f"{', '.join(shown)} runs"


def _plan(pair: PairComparison, comparison: Comparison) -> Iterator[str]:
    look = pair.look
    if look.most is None:
        return
    if look.number == 1:
        yield (
            f"Looks are planned up to {planned_runs(look)}: at this one p must be below {look.alpha:.2g}, so that "
            f"false alarms over all looks stay at {show_percent(look.whole)} or fewer."
        )
    if pair in comparison.open_pairs:
        yield f"Nothing is decided yet: make more runs of {_growing(pair)} (a larger -n), then repeat the command."
    elif look.ended:
        yield f"There are {planned_runs(look)}, as planned: this was the last look."


def planned_runs(look: PairLook) -> str:
    """Write the runs at the last look of a plan."""
    if look.most_b is None:
        return f"{count(look.most or 0, 'run')} of each"
    return f"{look.most} against {count(look.most_b, 'run')}"


def _growing(pair: PairComparison) -> str:
    """Name the sides that have fewer runs than were planned."""
    most, (n, m) = pair.look.most or 0, pair.look.sizes[-1]
    fewer = [label for label, lacks in ((pair.a, n < most), (pair.b, m < (pair.look.most_b or most))) if lacks]
    return fewer[0] if len(fewer) == 1 else "both"


def _unrecorded(pair: PairComparison) -> Iterator[str]:
    if pair.look.unrecorded:
        yield (
            f"This look could not be recorded ({pair.look.unrecorded}): the next comparison of them will not "
            "know of it."
        )
