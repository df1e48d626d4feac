"""One fact, one number: what screens, files, JSON and Python say of one store is the same."""

import csv
import html
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment

from deviate import api
from deviate.cli.main import group

ACC = [96.89, 95.33, 96.22, 94.67, 96.01, 96.67, 96.22, 95.98]
VALUES = {"train loss": [0.31, 0.28, 0.33, 0.30, 0.29, 0.35, 0.27, 0.32], "test acc": ACC}
N, MEAN, SD = len(ACC), float(np.mean(ACC)), float(np.std(ACC, ddof=1))


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return what each command and each format prints, by its name, and the facts in JSON and Python."""
    folder = tmp_path_factory.mktemp("store")
    write_experiment(folder, "base", VALUES)
    write_experiment(folder, "other", {name: [value - 0.3 for value in each] for name, each in VALUES.items()})
    commands = {
        "screen": "report base",
        "full": "report base -v",
        "markdown": "report base --format md",
        "latex": "report base --format tex",
        "html": "report base --format html",
        "csv": "report base --format summary",
        "json": "report base --json",
        "list": "list",
        "compare": "compare base other",
        "compare json": "compare base other --json",
        "compare full": "compare base other -v",
        "compare latex": "compare base other --format tex",
        "plan": "plan base",
        "plan json": "plan base --json",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        printed = {name: CliRunner().invoke(group, command.split()).stdout for name, command in commands.items()}
        printed["html"] = html.unescape(re.sub(r"<[^>]+>", " ", printed["html"]))
        printed["latex"] = printed["latex"].replace(r"$\pm$", "±").replace("$-$", "−").replace("{}", "")
        yield {name: " ".join(text.split()) if "json" not in name and name != "csv" else text
               for name, text in printed.items()}, api.load("base")  # fmt: skip


@pytest.fixture(scope="module")
def facts(said):
    """Return the main metric of the JSON contract."""
    (variant,) = json.loads(said[0]["json"])["variants"]
    return next(metric for metric in variant["metrics"] if metric["name"] == "test acc")


def test_the_mean_and_the_sd(said, facts):
    printed, experiment = said
    text = re.search(r"test acc ([\d.]+) ± ([\d.]+)", printed["screen"])
    decimals = len(text[1].partition(".")[2])
    spread = f"{MEAN:.{decimals}f} ± {SD:.{decimals}f}"
    assert text[0] == f"test acc {spread}"
    for name in ("full", "markdown", "html", "list", "compare"):
        assert spread in printed[name], name
    assert f"& {spread.replace('±', '&')} &" in printed["latex"]
    (row,) = [row for row in csv.DictReader(printed["csv"].splitlines()) if row["metric"] == "test acc"]
    (compared, *_) = json.loads(printed["compare json"])["metrics"]
    sample = experiment.variants["algo+impl"].metrics[0].spread
    for n, mean, sd in (
        (facts["n"], facts["mean"], facts["sd"]),
        (int(row["n"]), float(row["mean"]), float(row["sd"])),
        (compared["n_a"], compared["mean_a"], compared["sd_a"]),
        (sample.n, sample.mean, sample.sd),
    ):
        assert (n, mean, sd) == (N, pytest.approx(MEAN), pytest.approx(SD))


@pytest.mark.parametrize(("key", "label"), [("ci_mean", "mean"), ("ci_sd", "SD")])
def test_the_intervals(said, facts, key, label):
    printed, _ = said
    low, high = facts[key]
    ends = f"[{low:.2f}, {high:.2f}]"
    assert f"{label} {ends}" in printed["screen"]
    assert low < (MEAN if label == "mean" else SD) < high
    for name in ("full", "markdown", "latex", "html"):
        assert ends in printed[name], name
    (row,) = [row for row in csv.DictReader(printed["csv"].splitlines()) if row["metric"] == "test acc"]
    assert [float(row[f"{key}_{end}"]) for end in ("low", "high")] == [pytest.approx(low), pytest.approx(high)]


def test_the_smallest_difference(said):
    printed, _ = said
    known = next(rung for rung in json.loads(printed["plan json"])["ladder"] if rung["runs"] == N)
    (shown,) = re.findall(r"a difference of ([\d.]+)", printed["screen"])
    assert shown in printed["plan"]
    assert float(shown) == pytest.approx(known["detectable_difference"], rel=0.06)
    assert f"a difference of {shown}" in printed["html"]


def test_the_difference_of_two_recipes(said):
    printed, _ = said
    (metric, *_) = json.loads(printed["compare json"])["metrics"]
    low, high = sorted(-end for end in metric["ci_difference"])
    shown = f"{-metric['difference']:.2f} [{low:.2f}, {high:.2f}]".replace("-", "−")
    assert shown == "−0.30 [−1.06, 0.46]"
    assert shown in printed["compare"]
    assert shown in printed["compare full"]
    latex = printed["compare latex"].replace("{}", "").replace("$", "")
    assert "& -0.30 & [-1.06, 0.46] &" in latex
