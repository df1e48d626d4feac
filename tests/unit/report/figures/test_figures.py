"""Figures show the document's numbers, in charts that Vega-Lite's schema accepts."""

import json
import math
import re

import figure_cases
import pytest
import report_cases as cases

from deviate.core.factors import plain_name
from deviate.facts.curves import curves_of
from deviate.report.figures import (
    DASHES,
    FIGURE_FORMATS,
    PAPER_WIDTH,
    THEMES,
    _columns,
    render_figure,
    slug,
    themed,
    write_figures,
)
from deviate.report.topics.curves import Rounds, curve_figures, experiment_figures

ALL = pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)


def figures_of(document, **changes):
    records = figure_cases.records_of(document, **changes)
    return experiment_figures(document, curves_of(document, cases.by_run(records)))


def the(figures, name):
    return next(figure for figure in figures if figure.slug == name)


def view_with(channel, figure):
    return next(view for view in figure_cases.layers_of(figure.spec) if channel in view["encoding"])


@ALL
def test_slugs_are_unique_and_safe(case):
    slugs = [figure.slug for figure in figures_of(case())]
    assert len(set(slugs)) == len(slugs)
    assert all(name and name == slug(name) for name in slugs)


@ALL
def test_every_view_draws_a_data_set_of_the_figure_and_every_number_is_finite(case):
    for figure in figures_of(case()):
        names = {view["data"]["name"] for view in figure_cases.layers_of(figure.spec)}
        assert names <= set(figure.spec["datasets"])
        json.dumps(themed(figure), allow_nan=False)
        assert figure.description.endswith(".")
        assert "config" not in figure.spec
        assert "title" not in figure.spec


@ALL
def test_each_measured_metric_has_a_distribution_with_every_run(case):
    document = case()
    figures = [f for f in figures_of(document) if f.slug.startswith("distribution")]
    measured = {(m.name, m.aggregate) for v in document.variants for m in v.metrics if m.n and m.kind != "speed"}
    assert len(figures) == len(measured)
    for figure in figures:
        metrics = {v.variant: m for v in document.variants for m in v.metrics if m.name == figure.metric and m.n}
        rows = {row["variant"]: row for row in figure.spec["datasets"]["runs"]}
        assert set(rows) == set(metrics)
        for variant, metric in metrics.items():
            assert rows[variant]["value"] == pytest.approx(metric.values, rel=1e-8)
            assert rows[variant]["index"] == metric.runs
        for row in figure.spec["datasets"]["means"]:
            metric = metrics[row["variant"]]
            assert (row["mean"], row["low"], row["high"]) == (
                metric.spread.mean,
                metric.ci_mean.low,
                metric.ci_mean.high,
            )


def test_one_run_is_a_point_without_a_mean():
    figure = the(figures_of(cases.single()), "distribution-test-acc")
    assert figure_cases.drawn(figure.spec) == ["runs point"]
    curve = the(figures_of(cases.single()), "curves-test-acc")
    assert figure_cases.drawn(curve.spec) == ["runs line"]


def test_marks_of_a_usual_experiment():
    figures = figures_of(cases.usual())
    drawn = figure_cases.drawn(the(figures, "distribution-test-acc").spec)
    assert drawn.count("means tick") == 2
    assert "runs point" in drawn
    assert figure_cases.drawn(the(figures, "curves-test-acc").spec) == [
        "bands area", "runs line", "medians line", "medians point", "parting rule",
    ]  # fmt: skip


def test_curves_hold_every_run_and_gaps_are_null():
    document = cases.usual()
    figure = the(figures_of(document, run_3=math.nan, run_4=math.inf), "curves-test-acc")
    rows = {row["run"]: row for row in figure.spec["datasets"]["runs"]}
    assert len(rows) == 8
    assert rows["algo+impl-3"]["value"][-1] is None
    assert rows["algo+impl-4"]["value"][-1] is None
    assert None not in rows["algo+impl-0"]["value"]
    assert figure.spec["datasets"]["medians"][0]["n"][-1] == 6
    assert "2 runs with values that are not finite" in figure.description
    assert "The runs first differ in iteration 4, by" in figure.description


def test_what_varied_has_a_point_a_row_with_its_interval():
    document = cases.sources()
    figures = figures_of(document)
    for table in document.across:
        figure = the(figures, slug("factors", table.metric))
        points = {row["name"]: row for row in figure.spec["datasets"]["points"]}
        (start, *_) = [row["at"] for row in figure.spec["datasets"]["starts"]]
        for row in table.rows:
            if not row.sd:
                continue
            point = points[plain_name(row.variant)]
            assert point["value"] == row.sd
            assert point["low"] - start < point["at"] - start <= point["high"] - start
            scale = point["at"] / row.sd
            assert point["low"] == pytest.approx(scale * row.ci_sd.low)
            assert point["cut"] == (scale * row.ci_sd.high > 1)
        # Each row has its name: a colour would say nothing.
        assert [view for view in figure.spec["layer"] if "color" in view["encoding"]] == []


def test_colours_of_a_variant_are_the_same_in_all_figures():
    domains = {
        json.dumps(view["encoding"]["color"]["scale"]["domain"])
        for figure in figures_of(cases.sources())
        for view in figure_cases.layers_of(figure.spec)
        if "color" in view["encoding"]
    }
    assert domains == {json.dumps([variant.variant for variant in cases.sources().variants])}


def test_variants_differ_without_colour_too():
    figures = figures_of(cases.sources())
    points = next(
        v for v in figure_cases.layers_of(the(figures, "distribution-test-acc").spec) if "shape" in v["encoding"]
    )
    shapes = points["encoding"]["shape"]["scale"]["range"]
    assert len(set(shapes)) == len(shapes) == 6
    lines = next(
        v for v in figure_cases.layers_of(the(figures, "curves-test-acc").spec) if "strokeDash" in v["encoding"]
    )
    dashes = lines["encoding"]["strokeDash"]["scale"]["range"]
    assert len({tuple(dash) for dash in dashes}) == 6


def test_altair_accepts_a_chart_of_every_kind():
    """Altair checks each chart against the schema of Vega-Lite; it takes its time."""
    document = cases.started(cases.sources())
    figures = {figure.slug.partition("-")[0]: figure for figure in figures_of(document)}
    assert set(figures) == {"distribution", "curves", "factors"}
    for figure in figures.values():
        checked = figure.chart.to_dict()
        assert checked["description"] == figure.description
        assert len(figure_cases.layers_of(checked)) == len(figure_cases.layers_of(figure.spec))


@pytest.mark.parametrize("theme", THEMES)
def test_themes_hold_all_colours(theme):
    spec = themed(the(figures_of(cases.usual()), "curves-test-acc"), theme, 360, title=True)
    assert len(spec["config"]["range"]["category"]) == len(set(spec["config"]["range"]["category"])) == 7
    # What is largest in a heat map is farthest from the ground.
    assert spec["config"]["range"]["heatmap"] == {"scheme": "viridis" if theme == "dark" else "yellowgreenblue"}
    assert spec["width"] == 360
    title = "test acc in the course of training: each run, median, and the middle 50% of the runs (band)"
    assert " ".join(spec["title"]) == title


@pytest.mark.parametrize(("rounds", "shown"), [(Rounds("epoch"), [1, 2, 3]), (Rounds("step", 0), [0, 1, 2])])
def test_rounds_are_counted_and_called_as_on_a_terminal(rounds, shown):
    document = cases.usual()
    curves = curves_of(document, cases.by_run(figure_cases.records_of(document, iterations=3)))
    figure = curve_figures(curves, ["algo+impl"], rounds)[0]
    assert figure.spec["datasets"]["runs"][0]["iteration"] == shown
    assert view_with("x", figure)["encoding"]["x"]["title"] == rounds.word
    assert f"3 {rounds.word}s" in figure.description


def labels(svg, role):
    """Return the texts below the mark of a role, in order."""
    part = re.search(rf'class="mark-text role-{role}".*?</g>', svg, re.DOTALL).group()
    return re.findall(r">([^<>]+)</text>", part)


@pytest.mark.parametrize(("iterations", "ticks"), [(2, ["1", "2"]), (3, ["1", "2", "3"]), (4, ["1", "2", "3", "4"])])
def test_iterations_are_whole_numbers(iterations, ticks):
    figure = the(figures_of(cases.sources(), iterations=iterations), "curves-test-acc")
    assert labels(render_figure(figure, "svg").decode(), "axis-label") == ticks


def test_a_line_in_a_legend_is_long_enough_for_its_dashes():
    figure = the(figures_of(cases.sources()), "curves-test-acc")
    legend = view_with("strokeDash", figure)["encoding"]["strokeDash"]["legend"]
    assert math.sqrt(legend["symbolSize"]) >= max(map(sum, DASHES))
    assert legend["symbolType"] == "stroke"


def test_legends_fit_a_column():
    assert [_columns(["init", "x" * length]) for length in (9, 14, 40)] == [3, 2, 1]


@pytest.mark.parametrize("variants", [1, 5, 6])
def test_a_distribution_is_no_higher_than_half_a_column(variants):
    values = {f"variant-{place}": {"f1": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]} for place in range(variants)}
    svg = render_figure(the(figures_of(cases.document(values)), "distribution-f1"), "svg").decode()
    assert float(re.search(r'height="([\d.]+)"', svg).group(1)) <= 180


@pytest.mark.parametrize("format_name", FIGURE_FORMATS)
def test_files_have_the_format_and_the_width_of_a_column(format_name, tmp_path):
    figures = [the(figures_of(cases.usual()), "distribution-test-acc")]
    (path,) = write_figures(figures, tmp_path / "new", format_name)
    assert path == tmp_path / "new" / f"distribution-test-acc.{format_name}"
    content = path.read_bytes()
    assert content.startswith({"pdf": b"%PDF", "svg": b"<svg", "png": b"\x89PNG"}[format_name])
    if format_name == "png":
        assert int.from_bytes(content[16:20], "big") == pytest.approx(PAPER_WIDTH * 300 / 72, abs=3)
    if format_name == "svg":
        assert f'width="{PAPER_WIDTH}"' in content.decode()


@pytest.mark.parametrize("values", [[5e307, -5e307], [5e-324, 1e-323], [0.0, 0.0], [1e12, 1e12 + 1], [math.nan, 1.0]])
def test_extreme_values_can_be_drawn(values):
    document = cases.document({"algo+impl": {"reward": values * 3}})
    figure = the(figures_of(document), "distribution-reward")
    assert b"NaN" not in render_figure(figure, "svg")


def test_long_names_of_cells_are_told_apart_by_their_values():
    names = [f"lr=0.0003,epochs={epochs},batch=128" for epochs in (2, 4)]
    spec = the(
        figures_of(cases.document({name: {"test acc": [0.5, 0.6, 0.7]} for name in names})), "distribution-test-acc"
    ).spec
    rows = [layer["encoding"]["y"] for layer in figure_cases.layers_of(spec) if "y" in layer["encoding"]]
    assert {row["title"] for row in rows} == {"lr, epochs, batch"}
    assert all("regexp('[^,=]+=', 'g')" in row["axis"]["labelExpr"] for row in rows)
