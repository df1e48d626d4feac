"""One fact, one number: what screens, files, JSON and Python say of one store is the same."""

import csv
import html
import json
import os
import re
import socket
from datetime import datetime, timedelta

import numpy as np
import pytest
from click.testing import CliRunner
from compared_sides import write_experiment
from made import series, write_predictions, write_process
from msgspec import structs

from deviate import api
from deviate.cli.live_screen import screen_lines, watched_screen
from deviate.cli.main import group
from deviate.core.experiment import MainLoop, Run
from deviate.facts.live import LiveReader
from deviate.facts.overview import overview
from deviate.report.topics.live import live_sentences
from deviate.runs.events import RunStarted, TimeLeft
from deviate.runs.executors.executor import Slot
from deviate.runs.executors.processes import created_at
from deviate.store.run_files import Completed, RunInfo

ACC = [96.89, 95.33, 96.22, 94.67, 96.01, 96.67, 96.22, 95.98]
VALUES = {"train loss": [0.31, 0.28, 0.33, 0.30, 0.29, 0.35, 0.27, 0.32], "test acc": ACC}
N, MEAN, SD = len(ACC), float(np.mean(ACC)), float(np.std(ACC, ddof=1))
EPOCHS, EXAMPLES = 3, 200


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return what each command and each format prints, by its name, and the facts in JSON and Python."""
    folder = tmp_path_factory.mktemp("store")
    for name, shift in (("base", 0.0), ("other", -0.3)):
        values = {metric: [value + shift for value in each] for metric, each in VALUES.items()}
        trained(write_experiment(folder, name, values), values)
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
        "plan for": "plan base --against other --difference 0.5",
        "plan for json": "plan base --against other --difference 0.5 --json",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "100")
        printed = {name: CliRunner().invoke(group, command.split()).stdout for name, command in commands.items()}
        printed["markdown"] = printed["markdown"].replace("\\", "")
        printed["html"] = html.unescape(re.sub(r"<[^>]+>", " ", printed["html"]))
        printed["latex"] = printed["latex"].replace(r"$\pm$", "±").replace("$-$", "−").replace("{}", "")
        yield {name: " ".join(text.split()) if "json" not in name and name != "csv" else text
               for name, text in printed.items()}, api.load("base")  # fmt: skip


def trained(folder, values):
    """Give each run a curve of some epochs, which ends in its value, and answers, some of which are its own."""
    loop = MainLoop(file="train.py", line=3, variable="epoch", kind="for", why="", rounds=EPOCHS)
    folder.write_experiment(structs.replace(folder.read_experiment(), main_loop=loop))
    for place, run in enumerate(folder.runs()):
        ticks = series(-1, [0.0] * EPOCHS)
        rows = [
            row
            for key, each in enumerate(values.values())
            for row in series(key, [each[place] - epoch for epoch in reversed(range(EPOCHS))])
        ]
        write_process(run, sorted([*ticks, *rows], key=lambda row: (row[1], row[0])))
        target = np.arange(EXAMPLES) % 2
        own = np.arange(EXAMPLES) // N == place
        label = np.where(own & (np.arange(EXAMPLES) % N <= place), 1 - target, target)
        write_predictions(run, {"index": np.arange(EXAMPLES), "label": label, "target": target})


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


def test_the_smallest_difference(said, facts):
    printed, _ = said
    low, high = facts["ci_sd"]
    planned = json.loads(printed["plan json"])
    known = next(rung for rung in planned["ladder"] if rung["runs"] == N)
    for told in (planned["pilot"], known):
        assert [told["sd_low"] * SD, told["sd_high"] * SD] == pytest.approx([low, high])
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


def test_churn(said):
    printed, _ = said
    (stability,) = json.loads(printed["json"])["predictions"]
    churn = stability["classification"]["churn"]
    value, interval = churn["value"], churn["interval"]
    # Run i has i + 1 answers of its own, so that two runs differ on 9 examples in the mean.
    assert value == pytest.approx(9 / EXAMPLES)
    shown = f"{100 * value:.1f}% [{100 * interval['low']:.1f}, {100 * interval['high']:.1f}]"
    for name in ("screen", "full", "markdown", "html"):
        assert f"two runs answer {shown} of the {EXAMPLES} examples differently" in printed[name], name
    assert f"two runs of one recipe on {100 * value:.1f}%" in printed["compare"]


def test_the_runs_that_a_difference_takes(said):
    printed, _ = said
    planned = json.loads(printed["plan for json"])
    (answer,) = [each for each in planned["answers"] if each["size"] == 0.5]
    runs = answer["runs"]
    assert runs > N
    assert printed["plan for"].startswith(f"{runs} runs of each recipe show a difference of 0.5 ")
    assert f"deviate run -n {runs} " in printed["plan for"]
    assert f"for 0.5, {runs} runs of each: deviate plan base --against other" in printed["compare"]


def test_epochs_are_counted_from_one(said):
    printed, _ = said
    for name in ("screen", "markdown", "html"):
        assert "mean ± SD of 8 runs, last epoch" in printed[name], name
    assert "All 8 runs differ, first in the 1st epoch" in printed["full"]
    assert "The runs first differ in epoch 1, by" in printed["html"]
    assert f"8 runs, {EPOCHS} epochs" in printed["html"]


def test_epochs_and_the_time_left_while_runs_go_on(tmp_path):
    took, since = (20.0, 22.0), 5.0
    folder = write_experiment(tmp_path, "going", {"test acc": [*took]}, failed=2)
    loop = MainLoop(file="train.py", line=3, variable="epoch", kind="for", why="", rounds=EPOCHS)
    folder.write_experiment(structs.replace(folder.read_experiment(), main_loop=loop))
    for run, seconds in zip(folder.runs(), took, strict=False):
        run.write_outcome(Completed(seconds=seconds))
    for index in (2, 3):
        folder.run(Run(variant="algo+impl", index=index)).outcome_file.unlink()
    going = folder.run(Run(variant="algo+impl", index=2))
    write_process(going, [(-1, 0, 0.0, 0.0), (0, 0, 1.0, 90.0), (-1, 1, 1.0, 0.0)])
    going.worker.mkdir()
    going.write_info(
        RunInfo(
            variant="algo+impl", index=2, seeds=None, hold_impl=False, argv=["python"], cwd=".", environment={},
            executor="local", host=socket.gethostname(), slot=0, jobs=1, pid=os.getpid(),
            started=(datetime.now().astimezone() - timedelta(seconds=since)).isoformat(),
            created=created_at(os.getpid()),
        )
    )  # fmt: skip
    clock = [0.0]
    time = TimeLeft(lambda: clock[0])
    time.observe(RunStarted(run=going.run, slot=Slot(index=0), number=1, total=2, jobs=1, took=list(took)))
    clock[0] = since
    left = time.left()
    live = LiveReader(folder).read()
    screen = watched_screen(folder.read_experiment(), live)
    assert left == pytest.approx(16.0 + 21.0)
    assert [live.seconds_left, screen.left, overview(folder)["seconds_left"]] == [pytest.approx(left, abs=2.0)] * 3
    words = re.search(r"about (\d+) s left", " ".join(live_sentences(live)))
    assert words is not None
    assert int(words[1]) == pytest.approx(left, abs=3.0)
    # The epoch that was reported last, and not the one under way.
    assert (screen.going[0].done, screen.rounds, screen.word) == (1, EPOCHS, "epoch")
    assert f"epoch 1/{EPOCHS}" in "\n".join(screen_lines(screen, 100))
