"""Learning curves as data: what is thinned, what is left out, and what is of all runs all the same."""

import math

import figure_cases
import numpy as np
import pandas as pd
import pytest
import report_cases as cases
from hypothesis import given
from hypothesis import strategies as st

from deviate.facts.curves import FEWEST_POINTS, RUN_POINTS, curves_of, thinned
from deviate.report.topics.curves import curve_figures, curve_notes
from deviate.stats.curves import curve_band, parting

VALUES = st.lists(st.floats() | st.just(math.nan), min_size=1, max_size=400)


@given(values=VALUES, points=st.integers(1, 120))
def test_thinning_keeps_ends_extremes_and_the_budget(values, points):
    kept = thinned(values, points)
    curve = np.asarray(values)
    assert kept[0] == 0
    assert kept[-1] == curve.size - 1
    assert np.all(np.diff(kept) > 0)
    assert kept.size <= max(points, FEWEST_POINTS)
    finite = curve[np.isfinite(curve)]
    if finite.size:
        drawn = curve[kept][np.isfinite(curve[kept])]
        assert (drawn.min(), drawn.max()) == (finite.min(), finite.max())
    if not np.isfinite(curve).all():
        assert not np.isfinite(curve[kept]).all()


def long_records(runs=30, iterations=2000):
    rng = np.random.default_rng(3)
    values = rng.standard_normal((runs, iterations)).cumsum(axis=1)
    values[:, :5] = 1.0
    frame = pd.DataFrame(
        {
            "variant": "algo+impl",
            "run": np.repeat(np.arange(runs), iterations),
            "metric": "test acc",
            "iteration": np.tile(np.arange(iterations), runs),
            "value": values.ravel(),
        }
    )
    return frame, values


def crowd(runs):
    return cases.document({"algo+impl": {"test acc": [90.0 + k for k in range(runs)]}})


def test_a_budget_is_kept_and_what_is_not_drawn_is_said():
    frame, values = long_records()
    curves = curves_of(crowd(30), cases.by_run(frame), points=600)
    (variant,) = curves.metrics[0].variants
    drawn = [run.index for run in variant.runs]
    assert len(drawn) == 600 // RUN_POINTS
    assert (drawn[0], drawn[-1], variant.recorded) == (0, 29, 30)
    assert sum(len(run.iterations) for run in variant.runs) <= 600
    assert variant.longest == 2000
    assert variant.thinned
    assert "at least 12 of 30" in curve_notes(curves)[0]
    assert len(curve_notes(curves)) == 2
    for run in variant.runs:
        assert max(run.values) == pytest.approx(values[run.index].max(), rel=1e-8)
        assert min(run.values) == pytest.approx(values[run.index].min(), rel=1e-8)


def test_band_and_parting_are_of_all_runs_and_all_values(monkeypatch):
    frame, values = long_records()
    pairs = [(np.arange(2000), row) for row in values]
    band, parted = curve_band(pairs), parting(pairs)
    # Few cells at once: laid out piece by piece, and the same.
    monkeypatch.setattr("deviate.facts.curves._CELLS", 700)
    (variant,) = curves_of(crowd(30), cases.by_run(frame), points=600).metrics[0].variants
    places = np.searchsorted(band.iterations, variant.band.iterations)
    assert variant.band.median == pytest.approx(band.median[places], rel=1e-8)
    assert variant.band.low == pytest.approx(band.low[places], rel=1e-8)
    assert variant.band.n == [30] * len(places)
    assert max(variant.band.high) == pytest.approx(band.high.max(), rel=1e-8)
    assert (variant.parting.iteration, variant.parting.apart) == (parted.iteration, parted.apart) == (5, parted.apart)


def test_what_is_reported_every_tenth_iteration_is_counted_in_values():
    frame, _ = long_records(runs=2, iterations=5)
    curves = curves_of(crowd(2), cases.by_run(frame.assign(iteration=frame["iteration"] * 10)))
    assert not curves.metrics[0].variants[0].dense


def test_short_curves_are_whole_and_nothing_is_noted():
    document = cases.usual()
    records = figure_cases.records_of(document)
    curves = curves_of(document, cases.by_run(records))
    assert [metric.metric for metric in curves.metrics] == [
        metric.name for metric in document.variants[0].metrics if metric.kind != "speed"
    ]
    assert curve_notes(curves) == []
    for metric in curves.metrics:
        for run in metric.variants[0].runs:
            rows = records[(records["metric"] == metric.metric) & (records["run"] == run.index)]
            assert run.values == pytest.approx(rows["value"].tolist(), rel=1e-8)


def test_of_several_values_at_an_iteration_the_last_finite_one_counts_and_lengths_may_differ():
    rows = [(0, 0, 1.0), (0, 0, 2.0), (0, 0, math.nan), (0, 1, math.inf), (1, 0, 2.0), (1, 1, 5.0), (1, 2, 6.0)]
    frame = pd.DataFrame(
        [("algo+impl", run, "test acc", step, value) for run, step, value in rows],
        columns=["variant", "run", "metric", "iteration", "value"],
    )
    (variant,) = curves_of(crowd(2), cases.by_run(frame)).metrics[0].variants
    assert [run.values for run in variant.runs] == [[2.0, None], [2.0, 5.0, 6.0]]
    assert (variant.thinned, variant.dense) == (False, True)
    assert (variant.band.iterations, variant.band.n) == ([0, 1, 2], [2, 1, 1])
    assert (variant.parting.iteration, variant.parting.compared) == (None, 1)
    assert (variant.longest, variant.gaps) == (3, 1)


def test_a_caption_says_which_of_several_values_is_drawn():
    rows = [("algo+impl", run, "test acc", step, step / 2) for run in range(2) for step in (0, 0, 1)]
    frame = pd.DataFrame(rows, columns=["variant", "run", "metric", "iteration", "value"])
    said = "Of several values in one iteration the last finite one is drawn."
    for records, told in ((frame, True), (frame.drop_duplicates(), False)):
        (figure,) = curve_figures(curves_of(crowd(2), cases.by_run(records)), ["algo+impl"])
        assert (said in figure.description) is told


def test_what_was_reported_once_is_no_curve():
    document = cases.usual()
    records = figure_cases.records_of(document, iterations=1)
    assert curves_of(document, cases.by_run(records)).metrics == []
