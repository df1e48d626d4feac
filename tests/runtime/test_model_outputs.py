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
    reading: Any = importlib.import_module("deviate_runtime.predictions.torch.models")
    hidden, logits = torch.zeros(4, dtype=torch.long), torch.ones(4, 3)
    returned = kind(hidden=hidden, logits=logits)
    assert reading.main_output(returned) is logits
    assert list(map(id, reading.tensors_in(returned))) == [id(hidden), id(logits)]
