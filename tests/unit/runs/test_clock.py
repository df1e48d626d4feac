"""That the clock was set during a run is said."""

import time

import pytest

from deviate.runs.request import clock_offset, clock_warnings


@pytest.mark.parametrize(("moved", "said"), [(3600, "forward by 3600 s"), (-90, "back by 90 s")])
def test_a_clock_that_was_set_is_a_warning(moved, said, monkeypatch):
    before, now = clock_offset(), time.time
    monkeypatch.setattr(time, "time", lambda: now() + moved)
    (warning,) = clock_warnings(before)
    assert said in warning


def test_a_clock_that_goes_on_is_none():
    before = clock_offset()
    time.sleep(0.05)
    assert clock_warnings(before) == []
