"""The cells of a grid: what is claimed of them, in numbers and in sentences."""

import json

import msgspec
import numpy as np
import pytest
from compared_sides import prints, side, side_metric, write_experiment
from scipy import stats

from deviate import api
from deviate.core.errors import BadOption
from deviate.facts.comparison_options import ComparisonOptions
from deviate.facts.grid import FAMILIES, GridLook, MissingCell, compare_cells, names_grid, read_grid
from deviate.facts.samples import SampleOptions
from deviate.report.numbers import show_effect
from deviate.report.page import Table
from deviate.report.topics.grid import (
    best_sentence,
    effects_sentence,
    family_sentences,
    grid_caveats,
    grid_figures,
    grid_headline,
    grid_methods,
    grid_page,
)
from deviate.report.writers.contracts import grid_json
from deviate.report.writers.registry import writers
from deviate.report.writers.tables_csv import grid_csv
from deviate.report.writers.terminal import render_terminal
from deviate.runs.housekeeping import rename
from deviate.source.cells import read_cells
from deviate.stats.factorial import split_difference, split_spread
from deviate.stats.multiplicity import adjust
from deviate.store.folders import Workspace

FILE = """\
[[experiment]]
name = "digits"
command = "python train.py --lr {lr} --width {width}"
[experiment.grid]
lr = [0.1, 0.01]
width = [32, 64]
"""

#: Means in units of the SD of runs: only `lr` matters.
SHIFTS = (6.0, 6.2, 0.0, 0.1)


@pytest.fixture
def cells(tmp_path):
    (tmp_path / "deviate.toml").write_text(FILE)
    return read_cells(tmp_path)


def made(cells, shifts=SHIFTS, n=8, **changes):
    rng = np.random.default_rng(0)
    return [
        side(
            cell.name,
            [
                side_metric("test acc", 90 + 0.5 * (rng.standard_normal(n) + shift), **changes),
                side_metric("train loss", rng.random(n), kind="loss", direction="lower"),
                side_metric("time per run", 10 + rng.random(n), kind="speed", unit="s", direction="lower"),
            ],
        )
        for cell, shift in zip(cells, shifts, strict=True)
    ]


def compared(cells, sides, alpha=0.05, **options):
    return compare_cells(cells, sides, ComparisonOptions(alpha=alpha, **options), GridLook(number=1, alpha=alpha))


def test_the_factor_that_matters_is_shown_and_the_best_cells_are_marked(cells):
    grid = compared(cells, made(cells))
    claimed, explored = grid.metrics
    assert (claimed.name, claimed.claimed, explored.claimed) == ("test acc", True, False)
    assert {term.name: term.shown for term in claimed.terms} == {"lr": True, "width": False, "lr × width": False}
    assert {cell.label for cell in claimed.best} == {"lr=0.1,width=32", "lr=0.1,width=64"}
    assert "time per run" not in [metric.name for metric in grid.metrics]
    best, effects = grid_headline(grid)
    assert best == (
        "Best: lr 0.1, width 32: test acc 93.18 ± 0.30. Only lr 0.01, width 32 and lr 0.01, width 64 are shown to be "
        "worse."
    )
    assert effects.startswith("Shown to change test acc: lr (p < 0.001 adjusted, partial η² 0.92); no effect is shown")


def test_one_cell_that_beats_all_others_is_said_to_be_best(cells):
    metric = compared(cells, made(cells, (20.0, 6.0, 0.0, -6.0))).metrics[0]
    assert best_sentence(metric).endswith(" All 3 others are shown to be worse.")
    assert [cell.may_be_best for cell in metric.cells] == [True, False, False, False]


def test_effects_and_pairs_share_alpha(cells):
    metric = compared(cells, made(cells)).metrics[0]
    expected = adjust([term.robust.p for term in metric.terms], "holm")
    assert [term.p_adjusted for term in metric.terms] == pytest.approx([min(1, FAMILIES * p) for p in expected])
    assert (metric.family_terms, metric.family_pairs) == (3, 6)


def test_false_claims_of_any_kind_stay_below_alpha(cells):
    rng = np.random.default_rng(5)
    claims = 0
    for _ in range(60):
        sides = [side(cell.name, [side_metric("test acc", rng.standard_normal(5))]) for cell in cells]
        metric = compared(cells, sides, alpha=0.2).metrics[0]
        claims += any(term.shown for term in metric.terms) or len(metric.best) < len(cells)
    # 20 % of 60, with 3 standard errors of 3.1.
    assert claims <= 21


def test_few_runs_claim_nothing(cells):
    grid = compared(cells, made(cells, n=3))
    metric = grid.metrics[0]
    assert not metric.best
    assert not any(term.shown for term in metric.terms)
    assert "Nothing is claimed: claims take 5 runs in each cell, and lr 0.01, width 32 has 3." in best_sentence(metric)
    # The screen types what adds the runs, and says of effects nothing.
    assert grid_headline(grid) == [best_sentence(metric)]
    hint = grid_page(grid, "screen").sections[0].blocks[-1]
    assert (hint.text, hint.command) == ("add runs:", "deviate run -n 5 --name digits")


def test_claims_about_unequal_numbers_of_runs_are_doubted(cells):
    sides = made(cells, n=12)
    said = [caveat.slug for caveat in grid_caveats(compared(cells, [*sides[:3], made(cells, n=6)[3]]))]
    assert "runs-unequal" not in said
    doubted = compared(cells, [*sides[:3], made(cells, n=5)[3]])
    assert grid_caveats(doubted)[0].message.startswith("The cells have 5 to 12 runs. With numbers this unequal")
    # Where nothing is claimed, nothing is doubted.
    unclaimed = grid_caveats(compared(cells, [*sides[:3], made(cells, n=3)[3]]))
    assert "runs-unequal" not in [caveat.slug for caveat in unclaimed]


def test_runs_that_repeat_one_draw_claim_nothing(cells):
    sides = made(cells)
    sides[0] = msgspec.structs.replace(sides[0], prints=prints(*["same"] * 8))
    sides[1:] = [msgspec.structs.replace(each, prints=prints(*"abcdefgh")) for each in sides[1:]]
    metric = compared(cells, sides).metrics[0]
    assert metric.withheld.startswith("all runs of digits@lr=0.1,width=32 used the same random numbers for shuffle")
    assert not any(term.shown for term in metric.terms)


def test_what_all_cells_share_is_said_of_all(cells):
    sides = [msgspec.structs.replace(each, prints=prints(*["same"] * 8)) for each in made(cells)]
    said = [caveat.message for caveat in grid_caveats(compared(cells, sides)) if caveat.slug == "draws-shared"]
    (shared,) = said
    assert all(f"digits@lr={lr},width={width}" in shared for lr in (0.1, 0.01) for width in (32, 64))


def test_without_a_direction_no_cell_is_best(cells):
    metric = compared(cells, made(cells, direction=None), metrics=["test acc"]).metrics[0]
    assert metric.terms[0].shown
    assert best_sentence(metric).startswith("No cell is called best in test acc")
    asked = compared(
        cells,
        made(cells, direction=None),
        metrics=["test acc"],
        samples=SampleOptions(directions={"test acc": "lower"}),
    )
    assert {cell.label for cell in asked.metrics[0].best} == {"lr=0.01,width=32", "lr=0.01,width=64"}


def test_nothing_that_changes_the_mean_is_said(cells):
    grid = compared(cells, made(cells, (0, 0, 0, 0)))
    sentence = effects_sentence(grid.metrics[0], grid)
    assert sentence == "No effect on test acc is shown, neither of a factor nor of an interaction."


def test_cells_that_are_missing_leave_no_analysis_of_variance(cells):
    sides = made(cells)
    look = GridLook(number=2, alpha=0.006, unrecorded="no space")
    missing = [MissingCell(experiment=cells[3].name, reason="no run completed")]
    grid = compare_cells(cells[:3], sides[:3], ComparisonOptions(), look, missing)
    assert effects_sentence(grid.metrics[0], grid) == (
        "There is no analysis of variance of test acc: not every combination of the factors is there."
    )
    said = [caveat.message for caveat in grid_caveats(grid)]
    assert "digits@lr=0.01,width=64 is not compared: no run completed." in said
    assert any("this is look 2, and p must be below 0.006" in message for message in said)
    assert any("could not be recorded (no space)" in message for message in said)


def test_every_writer_has_every_cell(cells):
    grid = compared(cells, made(cells))
    document = json.loads(grid_json(grid))
    assert [cell["label"] for cell in document["metrics"][0]["cells"]] == [cell.label for cell in cells]
    assert document["metrics"][0]["effects"][2]["name"] == "lr × width"
    assert len(grid_csv(grid).splitlines()) == 1 + 2 * len(cells)
    screen, full = (render_terminal(grid_page(grid, reader)) for reader in ("screen", "full"))
    assert all(cell.label in full for cell in cells)
    assert "may be best" in full
    assert "Residual degrees of freedom" not in screen
    assert "analysis of variance" in full
    assert "all claims hold at 5% together" in " ".join(full.split())
    assert "over the 3 effects and, separately, over the 6 pairs" in " ".join(grid_methods(grid))


def test_every_column_of_a_grid_has_a_head(cells):
    grid = compared(cells, made(cells))
    page = grid_page(grid, "paper")
    tables = [block for section in page.sections for block in section.blocks if isinstance(block, Table)]
    assert [table.columns[-1].head for table in tables] == ["verdict", "verdict"]
    assert all(column.head for table in tables for column in table.columns)
    cell_rows, effects = ([row.cells[-1].text for row in table.rows] for table in tables)
    assert sorted(cell_rows) == ["best mean", "may be best", "not the best", "not the best"]
    assert effects == ["shown", "not shown", "not shown"]
    # Where nothing is claimed, nothing is denied.
    few = grid_page(compared(cells, made(cells, n=3)), "full")
    assert "not the best" not in str(few)
    assert "not shown" not in str(few)


def test_the_runs_of_all_cells_have_one_colour(cells):
    figures = grid_figures(compared(cells, made(cells)))
    for figure in (figure for figure in figures if figure.section == "distribution"):
        encodings = [view["encoding"] for view in figure.spec["layer"]]
        assert not any("shape" in encoding for encoding in encodings)
        assert {encoding["color"].get("datum") for encoding in encodings if "color" in encoding} == {"run"}


@pytest.fixture
def stored(tmp_path, cells):
    workspace = Workspace(tmp_path)
    rng = np.random.default_rng(0)
    for place, (cell, shift) in enumerate(zip(cells, SHIFTS, strict=True)):
        # By their CVs, the losses of every other cell have another order.
        sizes = (1.0, 0.1) if place % 2 else (0.1, 1.0)
        losses = {name: 5 + size * rng.random(6) for name, size in zip(("train loss", "val loss"), sizes, strict=True)}
        values = {"test acc": 90 + 0.5 * (rng.standard_normal(6) + shift), **losses}
        folder = write_experiment(tmp_path, cell.name, values)
        folder.write_experiment(msgspec.structs.replace(folder.read_experiment(), command=cell.command))
    return workspace


def test_a_paper_says_how_the_runs_of_all_cells_were_made(stored, cells):
    page = api.compare_grid(project=stored.project).page("paper")
    methods, runs, checklist = page.sections[-3:]
    assert not any("compared 2 times" in sentence for sentence in methods.blocks[0].sentences)
    each, own = runs.blocks
    assert (each.about, own.about) == ("Runs of each cell.", "Cells.")
    assert "We report one value per run and metric: the last value reported for test acc." in each.sentences
    assert "All runs completed." in each.sentences
    assert [sentence.partition(": ")[0] for sentence in own.sentences] == [cell.label for cell in cells]
    assert all("--lr" in sentence and "was run 6 times" in sentence for sentence in own.sentences)
    answers = {row.cells[0].text: row.cells[1].text for row in checklist.blocks[0].rows}
    assert "95% confidence intervals of the mean" in answers["Are there error bars, and of what?"]
    assert "HC3" in answers["How were they computed, and what is assumed?"]
    assert "6 completed of 6 planned" in answers["How many training runs are the results of?"]
    text = writers()["neurips"].render(page)
    assert [f"question {number}: justification" in text for number in (4, 6, 7, 8)] == [True] * 4


def test_what_is_so_for_each_cell_is_said_once_whatever_the_order_of_its_metrics(stored, cells):
    page = api.compare_grid(project=stored.project, metrics=["test acc", "train loss", "val loss"]).page("paper")
    each, own = page.sections[-2].blocks
    (said,) = (sentence for sentence in each.sentences if sentence.startswith("We report one value per run and metric"))
    assert all(name in said for name in ("test acc", "train loss", "val loss"))
    assert not any("We report" in sentence for sentence in own.sentences)


def test_a_paper_says_what_is_missing_and_how_often_cells_were_compared(cells):
    look = GridLook(number=2, alpha=0.006)
    missing = [MissingCell(experiment=cells[3].name, reason="no run completed")]
    grid = compare_cells(cells[:3], made(cells, n=4)[:3], ComparisonOptions(), look, missing)
    (methods,) = next(section for section in grid_page(grid, "paper").sections if section.slug == "methods").blocks
    assert methods.sentences[-3] == "digits@lr=0.01,width=64 is not compared: no run completed."
    assert methods.sentences[-2].startswith("Nothing is claimed of test acc: claims take ")
    assert methods.sentences[-1].startswith("The cells were compared 2 times while runs were added; this look is at")


def test_looks_at_growing_cells_are_accounted_for(stored, cells):
    first = read_grid(stored, ["digits"], ComparisonOptions())
    assert (first.look.number, first.look.alpha) == (1, 0.05)
    assert read_grid(stored, [], ComparisonOptions()).look == first.look
    for cell in cells:
        folder = write_experiment_again(stored, cell.name)
        assert len(folder.completed_runs()) == 7
    second = read_grid(stored, ["digits"], ComparisonOptions())
    assert second.look.number == 2
    assert second.look.alpha < 0.05


def test_looks_at_a_grid_count_under_its_new_name(stored, cells, tmp_path):
    first = read_grid(stored, ["digits"], ComparisonOptions())
    for cell in cells:
        rename(stored, cell.name, cell.name.replace("digits", "mnist"))
        write_experiment_again(stored, cell.name.replace("digits", "mnist"))
    file = tmp_path / "deviate.toml"
    file.write_text(file.read_text().replace('name = "digits"', 'name = "mnist"'))
    assert (first.look.number, read_grid(stored, ["mnist"], ComparisonOptions()).look.number) == (1, 2)


def write_experiment_again(workspace, name):
    """Add a run: the one with index 5 once more."""
    import shutil

    folder = workspace.experiment(name)
    shutil.copytree(folder.runs_folder / "algo+impl-5", folder.runs_folder / "algo+impl-6")
    return folder


def test_runs_of_another_command_are_left_out(stored, cells):
    folder = stored.experiment(cells[0].name)
    folder.write_experiment(msgspec.structs.replace(folder.read_experiment(), command=["python", "other.py"]))
    (missing,) = read_grid(stored, ["digits"], ComparisonOptions()).missing
    assert (missing.experiment, missing.reason) == (
        cells[0].name, "its runs were made with another command than deviate.toml says now",
    )  # fmt: skip


def test_names_mean_a_grid_only_where_there_is_one(tmp_path, cells):
    assert names_grid(tmp_path, [])
    assert names_grid(tmp_path, ["digits"])
    assert names_grid(tmp_path, ["digits:algo"])
    assert not names_grid(tmp_path, ["digits@lr=0.1,width=32"])
    assert not names_grid(tmp_path, ["digits", "other"])
    assert not names_grid(tmp_path, ["other"])


def test_a_grid_without_runs_says_what_to_type(tmp_path, cells):
    with pytest.raises(BadOption, match="0 of 4 cells of 'digits' have completed runs") as caught:
        read_grid(Workspace(tmp_path), ["digits"], ComparisonOptions())
    assert caught.value.hint == "make them with: deviate run"


def test_the_screen_is_a_map_of_means_and_sds_with_what_changes_them(cells):
    grid = compared(cells, made(cells))
    metric = grid.metrics[0]
    text = render_terminal(grid_page(grid, "screen"), 100)
    rows = [line for line in text.splitlines() if line.startswith("lr 0.")]
    for row, pair in zip(rows, (metric.cells[:2], metric.cells[2:]), strict=True):
        at = [row.index(f"{cell.mean:.2f} ± {cell.sd:.2f}") for cell in pair]
        at += [row.index(f"{cell.sd:.2f} [{cell.ci_sd.low:.2f}, {cell.ci_sd.high:.2f}]") for cell in pair]
        assert at == sorted(at)
    # The best has the darkest shade and a star, the worst the lightest.
    assert "█ 93.18 ± 0.30 *" in text
    assert f"░ {min(cell.mean for cell in metric.cells):.2f}" in text
    (lr,) = [line for line in text.splitlines() if line.startswith("lr  ")]
    assert " yes, p < 0.001 " in lr
    assert f"{metric.terms[0].eta_squared.value:.2f} [" in lr
    p = stats.levene(*(cell.values for cell in metric.cells), center="median").pvalue
    assert f"changes the SD? not shown (p = {p:.2g}, Brown-Forsythe over 4 cells)" in text
    narrow = render_terminal(grid_page(grid, "screen"), 60)
    assert all(f"{cell.mean:.2f} ± {cell.sd:.2f}" in narrow for cell in metric.cells)
    assert "SD [95% CI]" not in narrow


def test_two_maps_draw_the_means_and_the_sds_of_the_cells(cells):
    grid = compared(cells, made(cells))
    metric = grid.metrics[0]
    mean, sd = (figure for figure in grid_figures(grid) if figure.metric == metric.name and figure.section == "grid")
    assert [row["value"] for row in mean.spec["datasets"]["cells"]] == [cell.mean for cell in metric.cells]
    assert [row["value"] for row in sd.spec["datasets"]["cells"]] == [cell.sd for cell in metric.cells]
    assert mean.spec["datasets"]["cells"][0]["text"] == "93.18 ± 0.30"
    assert mean.spec["layer"][0]["encoding"]["x"]["sort"] == ["32", "64"]
    assert "lr 0.1, width 32: 93.18 ± 0.30" in mean.description
    assert mean.description.endswith(" Higher is better.")
    assert mean.chart is not None
    # A single row is no map.
    row = compared(cells[:2], made(cells)[:2])
    assert not [figure for figure in grid_figures(row) if figure.section == "grid"]


def test_an_sd_that_a_cell_changes_is_said_with_the_cell(cells):
    rng = np.random.default_rng(4)
    sds = (0.1, 0.1, 0.1, 3.0)
    sides = [
        side(cell.name, [side_metric("test acc", 90 + sd * rng.standard_normal(12))])
        for cell, sd in zip(cells, sds, strict=True)
    ]
    text = " ".join(render_terminal(grid_page(compared(cells, sides), "screen"), 100).split())
    assert "changes the SD? yes (p < 0.001, Brown-Forsythe over 4 cells), largest with lr 0.01, width 64" in text


def test_a_factor_that_changes_the_sd_and_cells_unlike_the_first_are_said(cells):
    rng = np.random.default_rng(2)
    values = [90 + scale * rng.standard_normal(12) + shift for scale, shift in ((4, 0), (1, 0), (4, 9), (1, 9))]
    grid = compared(
        cells, [side(cell.name, [side_metric("test acc", each)]) for cell, each in zip(cells, values, strict=True)]
    )
    (metric,) = grid.metrics
    changes, against = family_sentences(metric, grid)
    width, sds = metric.spreads[1], metric.spreads[1].effect.sds
    assert [(each.effect.factor, each.shown) for each in metric.spreads] == [("lr", False), ("width", True)]
    assert changes.startswith(
        f"width changes the SD (p < 0.001 adjusted): {sds['32']:.2f} with 32, {sds['64']:.2f} with 64"
    )
    assert changes.endswith(f"ratio {show_effect(width.effect.ratio)}.")
    assert against == (
        "If lr 0.1, width 32 is a baseline and no more is claimed, a difference from it is shown for 2 of 3 others: "
        "lr 0.01, width 32 and lr 0.01, width 64."
    )
    contract = json.loads(grid_json(grid))["metrics"][0]
    assert [each["factor"] for each in contract["spread_effects"]] == ["lr", "width"]
    assert [each["shown"] for each in contract["against_first"]] == [False, True, True]
    few = compared(
        cells, [side(cell.name, [side_metric("test acc", each[:4])]) for cell, each in zip(cells, values, strict=True)]
    )
    assert family_sentences(few.metrics[0], few) == []


def test_splits_are_set_apart_from_seeds(tmp_path):
    (tmp_path / "deviate.toml").write_text(
        '[[experiment]]\nname = "s"\ncommand = "python train.py {split}"\n[experiment.grid]\nsplit = [0, 1, 2]\n'
    )
    splits = read_cells(tmp_path)
    values = [[98, 97, 99, 96], [91, 90, 93, 92], [95, 96, 99, 98]]
    grid = compared(
        splits, [side(cell.name, [side_metric("test acc", each)]) for cell, each in zip(splits, values, strict=True)]
    )
    found = split_spread(values, crossed=True)
    first, mean, *_ = family_sentences(grid.metrics[0], grid)
    assert first.startswith("One run on one of 3 splits drawn like these varies by an SD of ")
    assert f"{found.share:.0%} of the variance by the split" in first
    assert mean.startswith("Mean for other splits and seeds: ")
    assert json.loads(grid_json(grid))["metrics"][0]["split"]["split"]["sd"] == found.split.sd


def test_recipes_are_compared_over_splits(tmp_path):
    (tmp_path / "deviate.toml").write_text(
        '[[experiment]]\nname = "s"\ncommand = "python train.py {lr} {split}"\n'
        "[experiment.grid]\nlr = [0.1, 0.3]\nsplit = [0, 1, 2]\n"
    )
    both = read_cells(tmp_path)
    values = [
        [98, 97, 99, 96],
        [91, 90, 93, 92],
        [95, 96, 99, 98],
        [99, 97, 98, 99],
        [93, 91, 93, 94],
        [96, 98, 99, 99],
    ]
    grid = compared(
        both, [side(cell.name, [side_metric("test acc", each)]) for cell, each in zip(both, values, strict=True)]
    )
    wanted = split_difference(values[:3], values[3:], crossed=True)
    metric = grid.metrics[0]
    assert [*metric.recipes] == ["lr 0.1", "lr 0.3"]
    assert metric.over_splits[0].difference == wanted
    said = family_sentences(metric, grid)
    assert said[0].startswith("lr 0.1: One run on one of 3 splits")
    assert said[4].startswith(f"For other splits and seeds, lr 0.3 minus lr 0.1: {wanted.value:.1f}")
    assert json.loads(grid_json(grid))["metrics"][0]["over_splits"][0]["difference"]["value"] == wanted.value


def test_where_no_factor_changes_the_sd_it_is_said(cells):
    grid = compared(cells, made(cells, (0, 0, 0, 0), n=12))
    assert family_sentences(grid.metrics[0], grid) == [
        "No factor is shown to change the SD: lr and width.",
        "If lr 0.1, width 32 is a baseline and no more is claimed, a difference from it is shown for none of 3 others.",
    ]


def test_losses_are_darker_where_they_are_lower(cells):
    sides = [
        side(cell.name, [side_metric("val loss", [mean + k / 100 for k in range(8)], kind="loss", direction="lower")])
        for cell, mean in zip(cells, (4.0, 3.2, 2.3, 1.0), strict=True)
    ]
    text = render_terminal(grid_page(compared(cells, sides), "screen"), 100)
    assert all(shade in text for shade in ("░ 4.0", "░ 3.2", "▒ 2.3", "█ 1.0"))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize(
    ("lrs", "sizes", "rows"),
    [
        ([0.1, 0.01], [32, 64], 2),
        ([0.1, 0.01], [16, 32, 64, 128, 256, 512], 6),
        ([0.1], [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384], 10),
    ],
)
def test_a_screen_has_twenty_lines(tmp_path, width, n, lrs, sizes, rows):
    (tmp_path / "deviate.toml").write_text(FILE.replace("[0.1, 0.01]", str(lrs)).replace("[32, 64]", str(sizes)))
    cells = read_cells(tmp_path)
    missing = [MissingCell(experiment="digits@lr=1.0,width=32", reason="it has not been run")]
    grid = compare_cells(
        cells, made(cells, range(len(cells)), n), ComparisonOptions(), GridLook(number=1, alpha=0.05), missing
    )
    text = render_terminal(grid_page(grid, "screen"), width)
    lines = [line for line in text.splitlines() if line]
    assert len(lines) <= (20 if width > 60 else 22)
    assert max(map(len, lines)) <= width
    assert sum(line.startswith(("lr 0", "lr=0", "width ")) and " ± " in line for line in lines) == rows
    if len(cells) > 12:
        assert "more cell" in text
    full = render_terminal(grid_page(grid, "brief"), width)
    assert "analysis of variance" in full
    assert width == 60 or all(cell.label in full for cell in cells)


@pytest.mark.parametrize("width", [60, 80])
def test_names_of_cells_are_whole_on_a_narrow_screen(cells, width):
    grid = compared(cells, made(cells))
    lines = render_terminal(grid_page(grid, "brief"), width).splitlines()
    assert max(map(len, lines)) <= width
    for cell in grid.metrics[0].cells:
        assert any(line.startswith(f"{cell.label} ") for line in lines)
