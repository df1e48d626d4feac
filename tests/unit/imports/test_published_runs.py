"""Runs that others published give the numbers that they printed; the files and their licences: tests/data/published."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner

from deviate import api
from deviate.cli.main import group
from deviate.stats.effects import cohen_d
from deviate.stats.tests import brown_forsythe, welch_t

PUBLISHED = Path(__file__).parents[2] / "data" / "published"


@pytest.fixture
def deviate(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        done = CliRunner().invoke(group, [str(word) for word in words], catch_exceptions=True, standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return done.stdout

    return run


def rounded(values, decimals):
    return f"{values.mean():.{decimals}f} {values.std():.{decimals}f}"


#: Runs, loss, p of a mean below 3.28, seconds.
NANOGPT = {
    "v1": (11, "3.27714 0.00123", "8.15e-06", "78.9669 0.0425"),
    "v2": (10, "3.27808 0.00098", "7.76e-05", "77.7050 0.0297"),
    "v3": (10, "3.27851 0.00097", "4.53e-04", "75.5199 0.0487"),
}


def test_modded_nanogpt(deviate):
    losses = {}
    for version, published in NANOGPT.items():
        clock = ("--metric", "val_loss", "--metric", "train_time", "--set", "aggregate=train_time=last")
        deviate("import", PUBLISHED / f"modded_nanogpt_{version}.txt", *clock, "--name", version)
        losses[version], times = api.load(version)["val_loss"], api.load(version)["train_time"] / 1000
        against = json.loads(deviate("check", version, "--target", "val_loss<=3.28", "--json"))["reached"]
        p = f"{against['p_reached']:.2e}"
        assert (len(times), rounded(losses[version], 5), p, rounded(times, 4)) == published
    assert f"{welch_t(losses['v2'], losses['v3']).p:.3f}" == "0.336"
    assert f"{welch_t(losses['v1'], losses['v2']).p:.3f}" == "0.066"


#: Means, p and d of ``stat_tests.csv``; three of its means are not those of the files: 0.018008 (EOFP), 0.073860 and
#: 0.070274 (BA).
S_RS = {
    "DP": (0.029675, 0.028106, 0.00001, 2.13),
    "DI bar": (0.249831, 0.237438, 0.00000, 2.31),
    "SPSF": (0.014838, 0.014053, 0.00001, 2.13),
    "FPSF": (0.008564, 0.008103, 0.00003, 1.84),
    "EOFP": (0.019032, 0.018007, 0.00003, 1.84),
    "EOTP": (0.125462, 0.119000, 0.00001, 2.08),
    "BA": (0.073858, 0.070273, 0.00002, 1.97),
}


def test_fairness_variance(deviate):
    """Their p is one-sided and asymptotic."""
    files = (PUBLISHED / "S-Base.yaml", PUBLISHED / "S-RS.yaml")
    deviate("import", *files, "--set", "rows=runs", "--experiment-column", "file", "--name", "s")
    base, changed = (
        {name: values.to_numpy() for name, values in api.load(f"s-{file.name}").samples().groupby("metric")["value"]}
        for file in files
    )
    assert base.keys() == S_RS.keys()
    for name, published in S_RS.items():
        a, b = base[name], changed[name]
        ours = np.array([a.mean(), b.mean(), one_sided(a, b), cohen_d(a, b).value])
        assert np.all(np.abs(ours - published) <= [5.001e-7, 5.001e-7, 5.001e-6, 5.001e-3]), name


def test_all_of_fairness_variance():
    """154 U tests to the last digit, 150 d (four have none), and 154 tests by Levene, whose means are of other sums."""
    with (PUBLISHED / "fairness_variance.csv").open(newline="") as file:
        values = {}
        for run in csv.DictReader(file):
            for metric in S_RS:
                values.setdefault((run["technique"], metric), []).append(float(run[metric]))
    technique, same = "", {"U": 0, "d": 0, "Levene": 0}
    with (PUBLISHED / "fairness_variance_tests.csv").open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    for name, metric, _, _, u, d, _, _, spread in filter(any, rows):
        technique = name or technique
        a, b = (np.array(values[each, metric]) for each in (f"{technique[0]}-Base", technique))
        p = one_sided(a, b) if a.mean() > b.mean() else one_sided(b, a)
        same["U"] += abs(p - float(u.split()[0])) <= 5.001e-6
        same["d"] += d[:1].isdigit() and abs(abs(cohen_d(a, b).value) - float(d)) <= 5.001e-3
        same["Levene"] += abs(brown_forsythe(a / a.mean(), b / b.mean()).p - float(spread.split()[0])) <= 2.1e-4
    assert same == {"U": 154, "d": 150, "Levene": 154}


def one_sided(a, b):
    return scipy.stats.mannwhitneyu(a, b, alternative="greater", method="asymptotic").pvalue


def test_hans(deviate, tmp_path):
    lines = (PUBLISHED / "berts_of_a_feather_accuracies_by_run.csv").read_text("utf-8").splitlines()
    (tmp_path / "runs.csv").write_text("\n".join(lines[:101]), "utf-8")
    deviate("import", "runs.csv", "--name", "berts")
    berts = api.load("berts").samples().pivot_table(index="run", columns="metric", values="value")
    assert len(berts) == 100
    summary = {row[0]: row[1:] for row in csv.reader(lines[101:]) if row[0]}
    for index, metric in enumerate(csv.reader([lines[0].lstrip("\ufeff")]).__next__()[1:]):
        values = berts[metric]
        published = [float(summary[row][index]) for row in ("Minimum", "Maximum", "Mean", "Standard deviation")]
        ours = [values.min(), values.max(), values.mean(), values.std()]
        assert ours == pytest.approx(published, abs=6e-10), metric


#: The README's own, which it says is Table 2.
MLP = {
    "adult": 0.852, "aloi": 0.954, "california_housing": -0.499, "covtype": 0.962, "epsilon": 0.898, "helena": 0.383,
    "higgs_small": 0.723, "jannis": 0.719, "microsoft": -0.747, "yahoo": -0.757, "year": -8.853,
}  # fmt: skip


def test_rtdl(deviate):
    long = ("--set", "metric_column=dataset", "--set", "value_column=score", "--experiment-column", "algorithm")
    deviate("import", PUBLISHED / "rtdl_scores.csv", *long, "--name", "rtdl")
    mlp = api.load("rtdl-mlp").samples().groupby("metric")["value"]
    assert mlp.mean().round(3).to_dict() == MLP
    assert set(mlp.count()) == {15}


def test_td3(deviate):
    """The paper takes the best of the mean curve, and the SD of all runs, not that of a sample."""
    table = ("--set", "columns_are_runs=return", "--set", "rows=iterations")
    deviate("import", PUBLISHED / "td3_HalfCheetah.csv", *table, "--name", "td3")
    curves = api.load("td3").records().pivot_table(index="iteration", columns="run", values="value")
    best = curves.mean(axis=1)[1:].idxmax()
    metrics = api.load("td3").metrics(aggregates={"return": f"at {best}"})
    mean, sd = metrics.loc[0, ["mean", "sd"]]
    assert (best, f"{mean:.2f}", f"{sd * np.sqrt(9 / 10):.3f}", f"{sd:.1f}") == (195, "9636.95", "859.065", "905.5")


def test_mlperf(deviate):
    """Their checker takes the mean without the best and the worst run, and the SD of these runs."""
    rows = ("--set", "where=key=bert_ref_256", "--set", "rows=runs")
    deviate("import", PUBLISHED / "rcps_bert.json", *rows, "--name", "bert")
    examples = api.load("bert")["Epochs to converge"]
    assert rounded(examples, 1) == "2552704.0 224080.0"
    assert f"{np.sort(examples)[1:-1].mean():.1f} {np.std(examples, ddof=0):.1f}" == "2549219.6 218406.1"


def test_atari_100k(deviate, tmp_path):
    """The paper of DIAMOND has 0.641 and 0.480; the other agent gains half as much."""
    returns = json.loads((PUBLISHED / "DIAMOND.json").read_text())
    lines = ["agent,game,run,score"]
    with (PUBLISHED / "atari_100k_references.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            low, high = float(row["random"]), float(row["human"])
            for run, value in enumerate(returns[row["game"]]):
                score = (value - low) / (high - low)
                lines += [f"DIAMOND,{row['game']},{run},{score}", f"half,{row['game']},{run},{score / 2}"]
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    long = ("--set", "metric_column=game", "--set", "value_column=score", "--experiment-column", "agent")
    deviate("import", "scores.csv", *long)
    found = json.loads(deviate("compare", "half", "DIAMOND", "--set", "tasks=true", "--json"))["tasks"]
    assert [f"{found[name]:.3f}" for name in ("iqm_a", "iqm_b", "gap_b")] == ["0.320", "0.641", "0.480"]


def test_dopamine(deviate):
    rows = json.loads((PUBLISHED / "dopamine_hopper.json").read_text())
    deviate("import", PUBLISHED / "dopamine_hopper.json", "--name", "sac")
    curves = np.array([row["Value"] for row in rows]).reshape(5, -1)
    assert api.load("sac").records()["value"].to_numpy().reshape(5, -1) == pytest.approx(curves)
    last = api.load("sac")["Value"]
    assert (last.mean(), last.std(ddof=1)) == pytest.approx((curves[:, -1].mean(), curves[:, -1].std(ddof=1)))
