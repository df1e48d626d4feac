"""Operations of PyTorch are timed for some updates, and no longer than for so many seconds."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from programs import INJECTED


class Profile:
    """Stands in for a profile of PyTorch."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, *error: object) -> None:
        """End."""

    def key_averages(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(key="aten::mm", count=3, self_cpu_time_total=40, self_device_time_total=5)]


@pytest.mark.parametrize(("seconds", "updates"), [(0.0, 50), (1.5, 2)])
def test_updates_are_timed_until_there_are_enough_or_they_take_long(
    seconds: float, updates: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(INJECTED))
    kernels = importlib.import_module("deviate_runtime.kernels")
    passed = iter(range(1000))
    monkeypatch.setattr(kernels, "monotonic", lambda: seconds * next(passed))
    torch = SimpleNamespace(profiler=SimpleNamespace(profile=Profile))
    timing = kernels.Timing(torch, str(tmp_path / "kernels.json"))
    for _ in range(60):
        timing.passed()
    written = json.loads((tmp_path / "kernels.json").read_text())
    assert written == {"updates": updates, "operations": {"aten::mm": [3, 40, 5]}}
