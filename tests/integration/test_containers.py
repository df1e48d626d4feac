"""``--set container=IMAGE``: an engine starts runs; a stand-in does what its command line says, and no more."""

import json
import sys

import pytest
from cli_tool import deviate

from deviate.store.folders import Workspace

#: Runs the command with the variables, in the folder and with the mounts that it is told, and refuses all else.
ENGINE = r"""#!{python} -I
import csv, os, sys

name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if words[:2] == ["image", "inspect"]:
    sys.exit(print("sha256:abc"))
command = words.pop(0)
assert command == ("exec" if name == "apptainer" else "run"), command
mounts, variables, folder, first = [], {{}}, None, []
alone = {{"--rm", "--init", "--cleanenv", "--nv"}}
while words[0].startswith("--"):
    option = words.pop(0)
    value = None if option in alone else words.pop(0)
    if option == "--mount":
        fields = next(csv.reader([value]))
        source, target = (field.partition("=")[2] for field in fields[1:3])
        assert fields[0] == "type=bind" and os.path.exists(source) and source == target, value
        mounts.append(source)
    elif option == "--env":
        known, _, given = value.partition("=")
        variables[known] = given if "=" in value else os.environ[known]
    elif option in ("--workdir", "--pwd"):
        folder = value
    elif option == "--entrypoint":
        first = [value]
image = words.pop(0)
assert image == ("docker://training" if name == "apptainer" else "sha256:abc"), image
if name == "apptainer":
    start = "APPTAINERENV_"
    variables = {{key[len(start):]: value for key, value in os.environ.items() if key.startswith(start)}}
inside = lambda path: any(os.path.realpath(path).startswith(os.path.realpath(mount)) for mount in mounts)
data = os.path.join(folder, "data")
needed = [folder, variables["DEVIATE_RUNTIME"], variables["PYTHONPATH"].split(":")[0], data]
assert all(map(inside, needed)), (needed, mounts)
os.chdir(folder)
os.execve({python!r}, [{python!r}, *(first + words)[1:]], {{**variables, "PATH": "/bin", "ENGINE": name}})
"""

TRAIN = """
import os
import random

random.seed(1)
offset = float(open("data/offset.txt").read())
print("in", os.environ["ENGINE"], os.environ.get("HOME"), os.environ.get("MODE"), os.environ.get("CONDA_PREFIX"))
for epoch in range(3):
    loss = offset + random.random()
    print(f"loss {loss:.6f}")
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "offset.txt").write_text("2")
    (project / "data").symlink_to(tmp_path / "elsewhere")
    (project / "train.py").write_text(TRAIN)
    (project / "evaluate.py").write_text(
        "import os\naccuracy = len(os.environ['ENGINE'])\nprint(f'accuracy {accuracy}')\n"
    )
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("MODE", "fast")
    monkeypatch.setenv("CONDA_PREFIX", "/conda")
    monkeypatch.chdir(project)
    return project


def install(project, engine):
    path = project.parent / "bin" / engine
    path.write_text(ENGINE.format(python=sys.executable))
    path.chmod(0o755)


WORDS = ("run", "-n", 1, "--name", "train", "--vary", "other", "--set", "container=training")


@pytest.mark.parametrize("engine", ["docker", "podman", "apptainer"])
def test_a_run_and_its_evaluation_are_started_in_a_container(project, engine):
    install(project, engine)
    done = deviate(*WORDS, "--then", "python3.99 evaluate.py", "--", "python3.99", "train.py")
    assert (done.status, done.err.count("(1 of ")) == (0, 1)
    run = Workspace(project).experiment("train").runs()[0]
    home = "None" if engine == "apptainer" else "/tmp"
    assert run.stdout_file.read_text().startswith(f"in {engine} {home} fast None\n")
    info, outcome = run.read_info(), run.read_outcome()
    image = "docker://training" if engine == "apptainer" else "training"
    assert (info.container.engine, info.container.image) == (engine, image)
    assert info.argv[0].endswith(f"/bin/{engine}")
    assert not [name for name in info.environment if name.startswith("APPTAINERENV_")]
    # What a service starts is not counted as what its client takes.
    counted = "cpu_seconds" in json.loads(run.outcome_file.read_text())
    assert (outcome.status, counted) == ("completed", engine == "apptainer")
    report = deviate("report", "train", "--format", "json").json
    values = {metric["name"]: metric["values"][0] for metric in report["variants"][0]["metrics"]}
    assert 2 < values["loss"] < 3
    assert len(engine) in values.values()
    assert f"container {engine} {image}" in deviate("report", "train", "--format", "markdown").out


def test_nothing_is_written_where_there_is_no_engine_or_it_cannot_be(project):
    refused = deviate(*WORDS, "--", "python", "train.py")
    assert (refused.status, "no container engine" in refused.err) == (2, True)
    install(project, "podman")
    (project / "deviate.toml").write_text("[container]\nengine = 'docker'\n")
    refused = deviate(*WORDS, "--", "python", "train.py")
    assert "docker is not on PATH" in refused.err
    assert "podman://training" in refused.err
    assert deviate(*WORDS, "--set", "warm=true", "--", "python", "train.py").status == 2
    assert not (project / ".deviate").exists()


def test_on_a_cluster_the_engine_is_that_of_its_machines(project):
    printed = deviate(*WORDS, "--executor", "slurm", "--print", "--", "python3.99", "train.py")
    assert (printed.status, "deviate.runs.worker" in printed.out) == (0, True)
