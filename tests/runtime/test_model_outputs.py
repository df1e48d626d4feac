"""What counts as the output of a model among all that it returns."""

from __future__ import annotations

import importlib
from collections import namedtuple
from typing import Any

import pytest
from installed import require
from programs import INJECTED


class Fields:
    """The methods of a dictionary that some libraries give their named tuples."""

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)  # type: ignore[misc]

    def keys(self) -> Any:
        return self._fields  # type: ignore[attr-defined]

    def items(self) -> Any:
        return zip(self._fields, self, strict=True)  # type: ignore[attr-defined, call-overload]


class Output(Fields, namedtuple("Output", "hidden logits")):
    """A named tuple that is read like a dictionary."""


@pytest.mark.parametrize("kind", [Output, lambda **named: dict(named), lambda **named: tuple(named.values())])
def test_scores_are_picked_from_containers_of_any_kind(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    require("torch")
    monkeypatch.syspath_prepend(str(INJECTED))
    torch: Any = importlib.import_module("torch")
    reading: Any = importlib.import_module("deviate_runtime.predictions.torch")
    hidden, logits = torch.zeros(4, dtype=torch.long), torch.ones(4, 3)
    returned = kind(hidden=hidden, logits=logits)
    assert reading.main_output(returned) is logits
    assert list(map(id, reading.tensors_in(returned))) == [id(hidden), id(logits)]


def test_a_column_of_pandas_is_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    require("pandas")
    import pandas as pd

    monkeypatch.syspath_prepend(str(INJECTED))
    outputs = importlib.import_module("deviate_runtime.predictions.outputs")
    assert outputs.numpy_of(pd.Series([3, 1, 2])).tolist() == [3, 1, 2]
    assert outputs.numpy_of(pd.Index(["a", "b"])).tolist() == ["a", "b"]


def test_a_batch_that_cannot_be_read_has_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    require("numpy")
    import numpy as np

    monkeypatch.syspath_prepend(str(INJECTED))
    order = importlib.import_module("deviate_runtime.streams.torch.data")
    first, second = ({"x": np.array(values), "name": None} for values in ([1.0, 2.0], [1.0, 3.0]))
    assert list(order.parts(first, 64)) != list(order.parts(second, 64))
    assert None not in [*order.parts(first, 64)]
    assert None in [*order.parts({"x": object()}, 64)]
