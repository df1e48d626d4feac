"""When a run learns each example, and how often it forgets it again."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """What one run learnt and forgot; all arrays have shape ``(n_examples,)``."""

    #: Evaluation passes.
    passes: int
    #: Passes after which an example that was right is wrong in the next one: 0 to ``passes // 2``.
    events: Any
    #: First pass in which the example is right, from 0; equal to `passes` where there is none.
    first_learnt: Any

    @property
    def learnt(self) -> Any:
        """Whether the example is right in any pass."""
        return self.first_learnt < self.passes

    @property
    def unforgettable(self) -> Any:
        """Whether the example is learnt and never forgotten."""
        return self.learnt & (self.events == 0)


def forgetting(correct: ArrayLike) -> Forgetting:
    """Count the forgetting events of each example in one run, and the pass in which it is first right [1]_.

    A forgetting event is a pass in which the example is right, followed by one in which it is wrong. Toneva et al. look
    when the example is in the batch; here it is at each evaluation pass, so events between two passes are not seen.
    Examples that are never learnt have no event; Toneva et al. count them as forgotten without end.

    Parameters
    ----------
    correct : array_like of bool, shape (n_passes, n_examples)
        Whether the run is right, pass after pass.

    References
    ----------
    .. [1] M. Toneva et al., "An empirical study of example forgetting during deep neural network learning", ICLR 2019.

    Examples
    --------
    >>> run = forgetting([[False, True, False], [True, False, False], [True, True, False]])
    >>> run.events.tolist(), run.first_learnt.tolist(), run.unforgettable.tolist()
    ([0, 1, 0], [1, 0, 3], [True, False, False])
    """
    right = np.asarray(correct)
    if right.ndim != 2 or 0 in right.shape:
        raise ValueError(f"correctness has shape (n_passes, n_examples), both 1 or more; this has shape {right.shape}")
    if right.dtype.kind != "b" and not np.isin(right, (0, 1)).all():
        raise ValueError("correctness is true or false, 1 or 0")
    right = right.astype(bool)
    return Forgetting(
        passes=len(right),
        events=(right[:-1] & ~right[1:]).sum(axis=0),
        first_learnt=np.where(right.any(axis=0), right.argmax(axis=0), len(right)),
    )
