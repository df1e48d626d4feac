"""``deviate run --vary`` on small trainings: what varied and what was held, proven by fingerprints."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_tool import deviate
from installed import require

import deviate as deviate_package
from deviate.core.factors import ALGORITHMIC, SEEDED
from deviate.runs.environment import cpu_flags, platforms

AUDITED = Path(__file__).parent / "audited"
COMMAND = ("--", sys.executable, "train.py")

#: Draws weights and the order of the data with NumPy; seeds itself.
PRESENT = {"init", "shuffle"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    shutil.copy(AUDITED / "numpy_seed.py", tmp_path / "train.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path


def variants(done):
    assert done.status == 0, done.err
    return {each["variant"]: each for each in done.json["variants"]}


def prints(variant, name):
    return [run["fingerprints"].get(name) for run in variant["runs"]]


def slugs(done, variant=None):
    return {each["slug"] for each in done.json["warnings"] if variant in (None, each["variant"])}


@pytest.fixture(scope="module")
def sourced(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources") / "train"
    folder.mkdir()
    shutil.copy(AUDITED / "numpy_seed.py", folder / "train.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("PYTHONPATH", raising=False)
        return folder, deviate("run", "-n", "3", "--vary", "arms", "--vary", "sources", "--json", *COMMAND)


@pytest.fixture
def sources(sourced, monkeypatch):
    folder, done = sourced
    monkeypatch.chdir(folder)
    return done


def test_arms_and_sources_vary_what_they_say_and_nothing_else(sources):
    found = variants(sources)
    assert list(found) == ["algo+impl", "algo", "impl", "control", *ALGORITHMIC]
    for name, variant in found.items():
        varying = PRESENT if name.startswith("algo") else PRESENT & {name}
        for factor in PRESENT:
            assert len(set(prints(variant, factor))) == (3 if factor in varying else 1), (name, factor)
        assert {run["seeds"].keys() == set(SEEDED) for run in variant["runs"]} == {True}
        assert not any(each["broken"] for each in variant["evidence"])
        for each in variant["evidence"]:
            if each["name"] in set(SEEDED) - PRESENT:
                assert each["found"] == "absent", each
    assert "factor-absent" in slugs(sources, "layers")
    assert not slugs(sources) & {"factor-leaked", "factor-pinned", "factor-repeats"}


def test_the_first_run_of_every_variant_repeats_that_of_control(sources):
    found = variants(sources)
    first = {factor: prints(found["control"], factor)[0] for factor in PRESENT}
    for variant in found.values():
        assert {factor: prints(variant, factor)[0] for factor in PRESENT} == first


def test_control_is_said_to_be_bit_identical_and_impl_to_have_no_noise_here(sources):
    found = variants(sources)
    assert found["control"]["identity"].startswith("3 runs bit-identical in 4 recorded values")
    assert "no implementation noise" in found["impl"]["identity"]
    assert "All 3 runs differ, first in the 1st epoch (loss)" in found["algo"]["identity"]


def test_the_spread_is_told_by_variant_in_every_format(sources):
    (table,) = sources.json["spread_by_variant"]
    spread = {row["variant"]: row["sd"] for row in table["rows"]}
    assert spread["control"] == spread["impl"] == spread["augment"] == 0
    assert 0 < spread["init"] != spread["shuffle"] > 0
    shown = deviate("report", "train", "-v").out
    assert "what varied" in shown
    assert "\n  initialisation" in shown
    assert re.search(r"\naugmentation +none seen in these runs", shown)
    assert "fingerprints" in shown
    told = deviate("show", "train", "-v").out
    assert "By fingerprints of 3 runs: Varied: initialisation. Held: data order." in told
    facts = deviate("show", "train", "--json").json
    assert {each["variant"] for each in facts["variants"]} == set(variants(sources))
    assert all(set(run["fingerprints"]) >= PRESENT for run in facts["runs"])


def test_a_list_of_factors_is_one_variant_under_one_name(project):
    done = deviate("run", "-n", "2", "--vary", "shuffle,init", "--vary", "init, shuffle", "--json", *COMMAND)
    (variant,) = variants(done).values()
    assert variant["variant"] == "init,shuffle"
    assert all(len(set(prints(variant, factor))) == 2 for factor in PRESENT)
    assert deviate("logs", "train", "init,shuffle-1", "--stdout").out.startswith("epoch 0")


@pytest.mark.parametrize("vary", ["all", "init,everything", "arms,init"])
def test_a_variant_that_is_none_is_refused_and_nothing_is_written(project, vary):
    done = deviate("run", "--vary", vary, *COMMAND)
    assert done.status == 2
    assert "shuffle" in done.err
    assert not (project / ".deviate").exists()


def test_the_report_names_the_seeds_it_replaced(project):
    deviate("run", "-n", "2", *COMMAND)
    assert "numpy.random.seed(7) at train.py:4" in deviate("report", "train", "-v").out


def test_seeds_of_the_data_are_kept_unless_the_data_vary(project):
    shutil.copy(AUDITED / "data_seed.py", project / "train.py")
    done = deviate("run", "-n", "2", "--vary", "algo", "--vary", "data", "--json", *COMMAND)
    found = variants(done)
    assert len(set(prints(found["algo"], "data"))) == 1
    assert len(set(prints(found["data"], "data"))) == 2
    assert len(set(prints(found["data"], "init"))) == 1
    assert [(seed["file"], seed["line"]) for seed in done.json["seeds_kept"]] == [("train.py", 5)]


def test_runs_know_their_commit_and_what_libraries_were_told(project):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "train.py"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    with (project / "train.py").open("a") as file:
        file.write("# changed\n")
    deviate("run", "-n", "1", "--vary", "control", *COMMAND)
    info = json.loads((project / ".deviate/experiments/train/runs/control-0/run.json").read_text())
    assert info["git"] == f"{commit} + 1 changed file"
    assert info["variables"]["MKL_CBWR"] == "AUTO"
    assert info["variables"]["PYTHONHASHSEED"] == str(info["seeds"]["other"])
    assert info["system"]


def test_strict_is_told_to_the_runtime(project):
    deviate("run", "-n", "1", "--set", "strict=true", "--vary", "control", *COMMAND)
    run = project / ".deviate/experiments/train/runs/control-0"
    assert json.loads((run / "runtime.json").read_text())["strict"] is True
    assert json.loads((run / "run.json").read_text())["strict"] is True


def test_in_a_notebook_fingerprints_are_a_table(sources):
    table = deviate_package.load("train").fingerprints()
    init = table[(table["variant"] == "init") & (table["name"] == "init")]
    assert list(init["run"]) == [0, 1, 2]
    assert init["digest"].nunique() == 3
    assert table[(table["variant"] == "control") & (table["name"] == "init")]["digest"].nunique() == 1


TORCH = """\
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 64)
y = x @ torch.randn(64, 1)
model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
"""


#: Without an optimizer, whose first step imports torch's compiler: a run for each platform would do so.
PLAIN = """\
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 64)
y = x @ torch.randn(64, 1)
model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 1))
weights = list(model.parameters())
for epoch in range(40):
    loss = nn.functional.mse_loss(model(x), y)
    for weight, slope in zip(weights, torch.autograd.grad(loss, weights)):
        weight.data -= 0.05 * slope
    print(f"epoch {epoch} loss {loss.item():.4f}")
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_another_platform_gives_other_bits_and_the_same_one_gives_the_same(project):
    require("torch")
    (project / "train.py").write_text(PLAIN)
    machine = platforms(cpu_flags(), len(os.sched_getaffinity(0)))
    done = deviate("run", "-n", str(len(machine) + 1), "--vary", "platform", "--json", *COMMAND)
    (variant,) = variants(done).values()
    assert [run["platform"] for run in variant["runs"]][-1] == variant["runs"][0]["platform"] == machine[0].name
    (metric,) = [each for each in variant["metrics"] if each["name"] == "loss"]
    assert metric["values"][-1] == metric["values"][0]
    assert len(set(metric["values"])) > 1
    assert "Runs on the same platform are bit-identical (1 platform ran more than once)." in variant["identity"]
    assert not any(each["broken"] for each in variant["evidence"])
    assert machine[0].name in deviate("report", "train", "-v").out


@pytest.mark.slow
def test_one_bit_of_one_weight_makes_runs_differ(project):
    require("torch")
    (project / "train.py").write_text(TORCH)
    done = deviate("run", "-n", "2", "--set", "warm=true", "--vary", "bit", "--vary", "control", "--json", *COMMAND)
    found = variants(done)
    # Rounding may take one of the changes back.
    assert len({*prints(found["bit"], "weights"), *prints(found["control"], "weights")}) > 1
    assert len(set(prints(found["control"], "weights"))) == 1
    assert len({(run["bit"]["tensor"], run["bit"]["index"]) for run in found["bit"]["runs"]}) == 2
    assert all(run["bit"] is None for run in found["control"]["runs"])
    assert not any(each["broken"] for variant in found.values() for each in variant["evidence"])


def test_a_factor_set_by_hand_decides_which_stream_a_draw_is_of(project):
    lines = (project / "train.py").read_text().split("\n")
    weights = next(number for number, line in enumerate(lines, 1) if "randn" in line)
    told = deviate("run", "-n", "2", "--vary", "init", "--json", *COMMAND)
    assert len(set(prints(variants(told)["init"], "init"))) == 2
    (project / "deviate.toml").write_text(f"[[draw]]\nfile = 'train.py'\nline = {weights}\nfactor = 'augment'\n")
    shown = deviate("extract", "train.py", "--json").json
    assert {draw["line"]: (draw["factor"], draw["why"]) for draw in shown["draws"]}[weights] == (
        "augment",
        "set in deviate.toml",
    )
    done = deviate("run", "-n", "2", "--vary", "init", "--vary", "augment", "--json", *COMMAND)
    assert done.json["experiment"] == "train-2"
    assert "other factors of draws, as deviate.toml or --set factor sets them" in done.err
    found = variants(done)
    assert set(prints(found["init"], "init")) == {None}
    assert len(set(prints(found["augment"], "augment"))) == 2
    assert len(set(prints(found["augment"], "shuffle"))) == 1
    named = deviate("run", "--name", "train", "-n", "2", *COMMAND)
    assert named.status == 2
    assert "other factors of draws" in named.err


def test_a_factor_set_by_an_option_belongs_to_the_experiment_and_to_the_command_that_makes_it_again(project):
    lines = (project / "train.py").read_text().split("\n")
    weights = next(number for number, line in enumerate(lines, 1) if "randn" in line)
    factor = f"train.py:{weights}=augment"
    first = deviate("run", "-n", "1", "--vary", "control", "--json", *COMMAND)
    second = deviate("run", "-n", "1", "--vary", "control", "--set", f"factor={factor}", "--json", *COMMAND)
    again = deviate("run", "-n", "1", "--vary", "control", "--set", f"factor={factor}", "--json", *COMMAND)
    assert [done.json["experiment"] for done in (first, second, again)] == ["train", "train-2", "train-2"]
    assert prints(variants(second)["control"], "init") == [None]
    again = " ".join(deviate("report", "train-2", "-v").out.split())
    assert f"--vary control --name train-2 --set factor={factor} --seed" in again
    assert "--set" not in deviate("report", "train", "-v").out
    shown = deviate("extract", "train.py", "--set", f"factor={factor}", "--json").json
    assert ("augment", "set by --set factor") in [(draw["factor"], draw["why"]) for draw in shown["draws"]]


@pytest.mark.parametrize("words", [["run"], ["audit"]])
def test_a_bad_factor_starts_nothing(project, words):
    done = deviate(*words, "--set", "factor=train.py:1=init", *COMMAND)
    assert done.status == 2
    assert "--set factor=train.py:1=init: no draw on line 1 of train.py" in done.err
    assert not (project / ".deviate" / "experiments").exists()


def test_a_bad_draw_entry_starts_nothing(project):
    (project / "deviate.toml").write_text("[[draw]]\nfile = 'train.py'\nline = 1\nfactor = 'init'\n")
    done = deviate("run", *COMMAND)
    assert done.status == 2
    assert "deviate.toml:1: no draw on line 1 of train.py" in done.err
    assert not (project / ".deviate" / "experiments").exists()


LAUNCHER = """
import subprocess, sys, tempfile, time, uuid

for fold in range(2):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        anew = [f"--config={config.name}", f"--id={uuid.uuid4()}", time.strftime("--out=runs/%Y%m%d-%H%M%S")]
        config.write(str(fold))
        config.flush()
        subprocess.run([sys.executable, "fold.py", *anew], check=True)
    time.sleep(1)
"""
FOLD = """
import sys
import numpy as np

fold = open(sys.argv[1].partition("=")[2]).read()
weights = np.random.randn(3)
for epoch in range(2):
    weights += np.random.randn(3)
    print(f"fold {fold} epoch {epoch} loss {abs(weights).sum():.12f}")
"""


def test_what_a_launcher_makes_anew_each_time_is_no_part_of_what_a_process_draws(tmp_path, monkeypatch):
    (tmp_path / "launch.py").write_text(LAUNCHER)
    (tmp_path / "fold.py").write_text(FOLD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    deviate("run", "-n", "2", "--vary", "control", "--name", "held", "--", sys.executable, "launch.py")
    first, second = (
        (tmp_path / f".deviate/experiments/held/runs/control-{run}/stdout.log").read_text().splitlines()
        for run in (0, 1)
    )
    assert first == second
    values = [line.split()[-1] for line in first]
    assert len(values) == len(set(values)) == 4  # each fold draws numbers of its own
