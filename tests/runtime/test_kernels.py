"""Operations of PyTorch are timed for some updates."""

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


def test_as_many_updates_are_timed_after_the_first_in_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(INJECTED))
    kernels = importlib.import_module("deviate_runtime.kernels")
    torch = SimpleNamespace(profiler=SimpleNamespace(profile=Profile))
    timing = kernels.Timing(torch, str(tmp_path / "kernels.json"))
    for _ in range(3 * kernels.UPDATES):
        timing.passed()
    written = json.loads((tmp_path / "kernels.json").read_text())
    assert written == {"updates": kernels.UPDATES, "operations": {"aten::mm": [3, 40, 5]}}
