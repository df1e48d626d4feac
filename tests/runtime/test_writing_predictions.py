"""When the runtime writes predictions: soon where an iteration is long, seldom where it is short, always at the end."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from programs import INJECTED

from deviate.observe.predictions import read_pass

CONTENT = np.arange(6, dtype=np.uint64)


@pytest.fixture
def predictions(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(INJECTED))
    capture, passes = (importlib.import_module(f"deviate_runtime.predictions.{name}") for name in ("capture", "passes"))
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(capture.time, "perf_counter", lambda: clock.now)
    events = SimpleNamespace(begun=True, stem="1-1", note=lambda *words: pytest.fail(str(words)))
    config = {"predictions": "labels", "records": str(tmp_path), "overlay": str(tmp_path), "original": str(tmp_path)}
    process = SimpleNamespace(config=config, events=events, iteration=0, rank=None)
    made = capture.Predictions(process)
    point = made.points["here"] = passes.Point(0, (("train.py", 9, "evaluate"),), "")

    def evaluate(labels):
        made.keep(passes.Pass(point, None, 0), {"target": CONTENT % 2, "label": labels, "digest": CONTENT}, None)

    def written():
        (path,) = Path(tmp_path).glob("predictions-0-last-*.bin")
        return read_pass(path).columns["label"].tolist()

    return SimpleNamespace(capture=made, clock=clock, evaluate=evaluate, written=written)


def test_the_first_pass_is_written_as_the_main_loop_goes_on(predictions):
    predictions.evaluate(CONTENT % 2)
    predictions.capture.tick()
    assert predictions.written() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(("seconds", "label"), [(0.5, 1), (1.5, 0), (2.5, 0)])
def test_a_pass_waits_where_writing_takes_more_than_its_share(predictions, seconds, label):
    """Writing took 5 ms, half a per cent of one second."""
    predictions.evaluate(CONTENT * 0 + 1)
    predictions.capture.tick()
    predictions.capture.writing = 0.005
    predictions.clock.now = seconds
    predictions.evaluate(CONTENT * 0)
    predictions.capture.tick()
    assert predictions.written() == [label] * 6


def test_no_pass_waits_longer_than_two_seconds(predictions):
    predictions.evaluate(CONTENT * 0 + 1)
    predictions.capture.tick()
    predictions.capture.writing, predictions.clock.now = 60.0, 2.0
    predictions.evaluate(CONTENT * 0)
    predictions.capture.tick()
    assert predictions.written() == [0] * 6


def test_what_waits_is_written_at_the_end(predictions):
    for label in (1, 1, 0):
        predictions.evaluate(CONTENT * 0 + label)
        predictions.capture.tick()
        predictions.capture.writing = 60.0
    assert predictions.written() == [1] * 6
    predictions.capture.finish()
    assert predictions.written() == [0] * 6
