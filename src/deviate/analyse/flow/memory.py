"""Remember what was evaluated, also where values depend on each other in circles."""

from __future__ import annotations

from collections.abc import Callable

from deviate.analyse.flow.values import NOTHING, From, Value, of

#: So many values inside circles may be evaluated anew before what is there is taken.
MAX_REPEATS = 2000
#: Deeper expressions are left unknown rather than run into Python's recursion limit.
MAX_DEPTH = 1500
_NOT_MET = 1 << 30


class Memory:
    """Evaluates each thing once."""

    def __init__(self) -> None:
        #: What is known for good.
        self.known: dict[object, Value] = {}
        #: What is being evaluated, with its depth.
        self._busy: dict[object, int] = {}
        #: What was computed within a circle that is not complete, with the depth at which the circle begins.
        self._partial: dict[object, tuple[Value, int]] = {}
        #: Depth of the outermost evaluation in progress that was met again.
        self._lowest = _NOT_MET
        self._budget = 0

    def once(self, key: object, compute: Callable[[], Value]) -> Value:
        """Evaluate something and remember it.

        What is met again while it is evaluated counts as nothing. A value computed from such a nothing is remembered
        for good only by the evaluation that was met again, for which it is complete. The values in between serve until
        that evaluation is done, and are evaluated anew when they are needed later.
        """
        remembered = self.known.get(key)
        if remembered is not None:
            return remembered
        partial = self._partial.get(key)
        if partial is not None:
            self._lowest = min(self._lowest, partial[1])
            return partial[0]
        met = self._busy.get(key)
        if met is not None:
            self._lowest = min(self._lowest, met)
            return NOTHING
        return self._first(key, compute)

    def _first(self, key: object, compute: Callable[[], Value]) -> Value:
        depth = len(self._busy)
        if depth >= MAX_DEPTH:
            return of(From.UNKNOWN)
        if depth == 0:
            self._budget = MAX_REPEATS
        self._busy[key] = depth
        outer, self._lowest = self._lowest, _NOT_MET
        try:
            value = compute()
        finally:
            del self._busy[key]
            lowest, self._lowest = self._lowest, min(outer, self._lowest if self._lowest < depth else _NOT_MET)
        if lowest < depth:
            self._partial[key] = value, lowest
            return value
        self.known[key] = value
        if lowest == depth:
            self._close_circle(depth)
            if value.keys:
                value = self.known[key] = self._again(key, compute, depth)
        return value

    def _again(self, key: object, compute: Callable[[], Value], depth: int) -> Value:
        """Evaluate a container once more with what is known of it: one item may be computed from another one."""
        self._busy[object()] = depth  # keeps the depths of what is evaluated below apart from those above
        outer, self._lowest = self._lowest, _NOT_MET
        try:
            return compute()
        finally:
            self._busy.popitem()
            self._lowest = min(outer, self._lowest if self._lowest < depth else _NOT_MET)

    def _close_circle(self, depth: int) -> None:
        """Forget what was computed within a circle that is complete; keep it once that was done too often."""
        done = [key for key, (_, lowest) in self._partial.items() if lowest >= depth]
        self._budget -= len(done)
        for key in done:
            value, _ = self._partial.pop(key)
            if self._budget <= 0:
                self.known[key] = value
