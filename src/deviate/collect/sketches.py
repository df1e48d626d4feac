"""How alike two sets of examples are, by their sketches: the smallest hashes of each set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Sketches by part of a run's examples: its n-th data set, or what its model was called on.
Parts = Mapping[str, Sequence[str]]

#: How the names of parts begin whose rows are of several lengths.
PADDED = "padded, "

#: Hashes that a sketch keeps, as the runtime does.
SIZE = 64

#: Sets that share less than this are different ones. An incomplete last batch that is dropped leaves out a few
#: examples; two random splits that each keep nine tenths of the same data share 0.82.
SAME = 0.9


def resemblance(a: Sequence[str], b: Sequence[str]) -> float:
    """Estimate the share of examples that two sets have in common (their Jaccard index), in [0, 1].

    Parameters
    ----------
    a, b : sequence of str
        The smallest hashes of each set, at most `SIZE`, as hexadecimal numbers of equal length.

    References
    ----------
    A. Broder, "On the resemblance and containment of documents", Proc. Compression and Complexity of Sequences, 1997.

    Examples
    --------
    >>> resemblance(["01", "02", "03"], ["03", "02", "01"])
    1.0
    >>> resemblance(["01", "02"], ["03", "04"])
    0.0
    """
    smallest = sorted({*a, *b})[:SIZE]
    common = set(a) & set(b)
    return sum(each in common for each in smallest) / len(smallest) if smallest else 1.0


def joined_parts(parts: Sequence[Parts]) -> dict[str, list[str]]:
    """Return the sketches of the examples that several processes of a run had."""
    names = sorted({name for each in parts for name in each})
    return {name: sorted({word for each in parts for word in each.get(name, ())})[:SIZE] for name in names}


def same_examples(a: Parts, b: Parts) -> bool | None:
    """Tell whether two runs had the same examples in every part that both show; None where nothing proves it.

    Rows that were padded prove that examples are the same, and not that they differ: how far each is padded follows
    from the order.
    """
    differing = [name for name in a if name in b and resemblance(a[name], b[name]) < SAME]
    if any(not name.startswith(PADDED) for name in differing):
        return False
    return True if a.keys() & b.keys() and not differing else None
