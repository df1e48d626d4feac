"""Which test answers a question: chosen by how the runs were made, never by how the values look.

A choice made after looking at the values (normal or not, equal SDs or not) is a test itself: at few runs it sees
nothing, and what follows it no longer keeps its level [1]_.

References
----------
.. [1] D. W. Zimmerman, "A note on preliminary tests of equality of variances", British Journal of Mathematical and
   Statistical Psychology 57, 2004.
.. [2] C. Colas, O. Sigaud and P.-Y. Oudeyer, "A hitchhiker's guide to statistical comparisons of reinforcement learning
   algorithms", 2019.
"""

from __future__ import annotations

import msgspec

from deviate.contrast.arrangements import are_unequal, is_permuted

#: Of the runs of the larger side, the share that must have a partner for pairs to be compared.
LEAST_PAIRED = 0.8

#: Below two pairs nothing is known of how they differ.
FEWEST_PAIRS = 2


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The test that decides, and why this one."""

    test: str
    #: What a sentence calls it.
    label: str
    reason: str


WELCH = Choice(
    test="welch_t",
    label="Welch's t test",
    reason="it does not assume equal SDs",
)

WELCH_AND_PERMUTATION = Choice(
    test="welch_permutation",
    label="Welch's t test and a permutation of the runs",
    reason="with unequal numbers of runs Welch's test alone raises too many false alarms; the larger p counts",
)

PAIRED = Choice(
    test="paired_t",
    label="paired t test",
    reason="runs are paired, so the differences within pairs are tested",
)

BROWN_FORSYTHE = Choice(
    test="brown_forsythe",
    label="Brown-Forsythe test",
    reason="of the tests of spread it is the one that keeps its level with heavy tails",
)

BROWN_FORSYTHE_AND_PERMUTATION = Choice(
    test="brown_forsythe_permutation",
    label="Brown-Forsythe test and a permutation of the runs",
    reason="it keeps its level with heavy tails and where values are of two kinds, and the larger p counts",
)

PAIRED_BROWN_FORSYTHE = Choice(
    test="paired_brown_forsythe",
    label="Brown-Forsythe test within pairs",
    reason="of the paired tests of spread it is the one that keeps its level with heavy tails",
)


def choose_location(n_a: int, n_b: int, pairs: int) -> Choice:
    """Choose the test of the means.

    Parameters
    ----------
    pairs : int
        Runs that have a partner on the other side with which they share draws; 0 where pairing is not real.

    Examples
    --------
    >>> choose_location(8, 8, 0).test, choose_location(8, 8, 8).test, choose_location(30, 8, 8).test
    ('welch_t', 'paired_t', 'welch_permutation')
    """
    if pairs >= FEWEST_PAIRS and pairs >= LEAST_PAIRED * max(n_a, n_b):
        return PAIRED
    return WELCH_AND_PERMUTATION if are_unequal(n_a, n_b) else WELCH


def choose_spread(n_a: int, n_b: int, *, paired: bool) -> Choice:
    """Choose the test of the spread, of as many runs as there are, or of paired ones."""
    if paired:
        return PAIRED_BROWN_FORSYTHE
    return BROWN_FORSYTHE_AND_PERMUTATION if is_permuted(n_a, n_b) else BROWN_FORSYTHE
