"""Which of several sides is best, and how sure its place is."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from deviate.experiment import Direction


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one side among several."""

    name: str
    #: By the means, 1 is best; equal means share the better place.
    rank: int
    #: Places that the pairwise tests leave open, at the family-wise level of their correction.
    lowest: int
    highest: int


def ranking(
    names: Sequence[str], means: Sequence[float], direction: Direction, proven: Collection[tuple[str, str]]
) -> list[Place]:
    """Rank the sides of one metric.

    The best comes first. A side that is proven worse than ``w`` others and better than ``b`` others of ``k`` has a
    place from ``1 + w`` to ``k - b``. Where the pairwise tests keep the family-wise error (Holm, Bonferroni), all these
    intervals hold the true places together with that confidence [1]_.

    Parameters
    ----------
    names : sequence of str
        Of the sides.
    means : sequence of float
        Of the sides, in the order of `names`.
    proven : collection of (str, str)
        Pairs (better, worse) that a test, adjusted for the number of pairs, shows to differ.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility
       across neighbourhoods and academic achievement across countries", Review of Economic Studies 91, 2024.

    Examples
    --------
    >>> places = ranking(["a", "b", "c"], [1.0, 3.0, 2.0], "higher", {("b", "a")})
    >>> [(place.name, place.rank, place.lowest, place.highest) for place in places]
    [('b', 1, 1, 2), ('c', 2, 1, 3), ('a', 3, 2, 3)]
    """
    sign = -1 if direction == "higher" else 1
    signed = {name: sign * mean for name, mean in zip(names, means, strict=True)}
    places = [
        Place(
            name=name,
            rank=1 + sum(other < signed[name] for other in signed.values()),
            lowest=1 + sum(worse == name for _, worse in proven),
            highest=len(names) - sum(better == name for better, _ in proven),
        )
        for name in names
    ]
    return sorted(places, key=lambda place: place.rank)
