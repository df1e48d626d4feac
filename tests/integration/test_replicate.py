"""Runs of real programs: folders of their own, paths, environments, endings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from replicate_tool import make_runs, outcomes

from deviate.observe.tables import open_tables
from deviate.runs.experiment import ReplicateOptions
from deviate.source.edits import FileCode
from deviate.store.run_files import Completed, Failed, NotInstrumented, TimedOut
from deviate.store.snapshot_rules import SnapshotRules

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def made(project, source, words=("train.py",), **kwargs):
    """Run `source` as train.py, with every ``record(`` standing for what the instrumenter puts there."""
    (project / "train.py").write_text(source.replace("record(", "("))
    given = source.replace("record(", "__dv__(0, ").encode()
    overlay = {"train.py": FileCode(source=source.replace("record(", "(").encode(), given=given)}
    environment = {**os.environ, "OMP_NUM_THREADS": "1"} | kwargs.pop("environment", {})
    environment.pop("PYTHONPATH", None) if "PYTHONPATH" not in environment else None
    return make_runs(project, [sys.executable, *words], overlay, environment=environment, **kwargs)[0]


def printed(place):
    return [run.stdout_file.read_text() for run in place.runs()]


def records(place):
    with open_tables(place) as tables:
        return tables.records()


def values(place):
    return records(place)["value"].tolist()


def test_values_of_a_run_are_recorded_as_the_program_had_them(project):
    place = made(project, "for x in (0.1, 1/3):\n    print(record(x))\n")
    assert [type(each) for each in outcomes(place).values()] == [Completed] * 2
    assert values(place) == [0.1, 1 / 3] * 2
    assert printed(place) == ["0.1\n0.3333333333333333\n"] * 2


def test_runs_never_meet_each_others_files_nor_the_ones_that_were_there(project):
    (project / "model.pt").write_text("former training")
    (project / "log.txt").write_text("kept\n")
    place = made(
        project,
        "import os\n"
        "print('resumed' if os.path.exists('model.pt') else 'fresh')\n"
        "open('model.pt', 'w').write('mine'); open('log.txt', 'a').write('more\\n'); record(1)\n",
    )
    assert printed(place) == ["fresh\n"] * 2
    assert (project / "model.pt").read_text() == "former training"
    assert (project / "log.txt").read_text() == "kept\n"
    assert (place.runs()[0].work / "project" / "log.txt").read_text() == "kept\nmore\n"


def test_an_input_that_was_left_out_fails_with_the_option_that_brings_it(project):
    (project / "weights.pth").write_text("pretrained")
    source = "print(open('weights.pth').read()); record(1)\n"
    place = made(project, source)
    outcome = outcomes(place)["control-0"]
    assert isinstance(outcome, Failed)
    assert outcome.hint.endswith("--set include=weights.pth")
    assert "FileNotFoundError" in outcome.stderr[-1]


def test_include_brings_it(project):
    (project / "weights.pth").write_text("pretrained")
    place = made(project, "print(open('weights.pth').read()); record(1)\n", rules=SnapshotRules(include=("*.pth",)))
    assert printed(place) == ["pretrained\n"] * 2


def test_data_beside_the_project_is_found(project):
    (project.parent / "data").mkdir()
    (project.parent / "data" / "x").write_text("7")
    place = made(project, "record(int(open('../data/x').read()))\n")
    assert values(place) == [7.0, 7.0]


def test_data_higher_up_is_found_from_a_folder_inside(tmp_path):
    project = tmp_path / "home" / "group" / "project"
    (project / "sub").mkdir(parents=True)
    (tmp_path / "home" / "data").mkdir()
    (tmp_path / "home" / "data" / "x").write_text("7")
    (tmp_path / "home" / "group" / "y").write_text("1")
    source = "record(int(open('../../../data/x').read()) + int(open('../../y').read()))\n"
    place = made(project, source, words=["../train.py"], folder="sub")
    assert values(place) == [8.0, 8.0]


def test_a_path_nobody_could_see_fails_with_the_option_that_brings_it(tmp_path):
    project = tmp_path / "home" / "project"
    project.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x").write_text("7")
    source = (
        "import pathlib\nrecord(int((pathlib.Path(__file__).resolve().parents[int('2')] / 'data' / 'x').read_text()))\n"
    )
    outcome = outcomes(made(project, source, runs=1))["control-0"]
    assert outcome.hint.endswith("--set include=../../data/x")
    (project / ".deviate").rename(tmp_path / "old")
    place = made(project, source, rules=SnapshotRules(include=("../../data/x",)))
    assert values(place) == [7.0, 7.0]


def test_a_file_that_leads_out_of_the_copy_is_warned_of(project):
    (project / "conf.yaml").write_text(f"out: {project}/out\n")
    place = made(project, "record(1)\n", runs=1)
    (warning,) = outcomes(place)["control-0"].warnings
    assert warning.startswith(f"conf.yaml names {project} by its absolute path")


def test_writing_to_shared_data_is_reported(project):
    (project.parent / "data").mkdir()
    place = made(project, "import os\nopen('../data/%d' % os.getpid(), 'w').close(); record(1)\n", runs=1)
    (warning,) = outcomes(place)["control-0"].warnings
    assert str(project.parent / "data") in warning


def test_absolute_paths_in_the_command_lead_into_the_copy(project):
    (project / "conf").write_text("original")
    words = [str(project / "train.py"), f"--conf={project}/conf"]
    source = "import sys\nopen(sys.argv[1].partition('=')[2], 'a').write('!'); print(__file__); record(1)\n"
    place = made(project, source, words=words)
    assert printed(place) == [f"{run.work}/project/train.py\n" for run in place.runs()]
    assert (project / "conf").read_text() == "original"


def test_modules_on_pythonpath_inside_the_project_come_from_the_copy(project):
    (project / "lib").mkdir()
    (project / "lib" / "net.py").write_text("def f(): print(__file__)\n")
    source = "import net; net.f(); record(1)\n"
    place = made(project, source, environment={"PYTHONPATH": f"{project}/lib"})
    assert printed(place) == [f"{run.work}/project/lib/net.py\n" for run in place.runs()]


def test_an_editable_install_is_redirected_and_its_environment_is_used(project):
    (project / "src" / "package").mkdir(parents=True)
    (project / "src" / "package" / "__init__.py").write_text("print(__file__)\n")
    venv.create(project / ".venv", symlinks=True, with_pip=False)
    (site,) = (project / ".venv").glob("lib/python*/site-packages")
    (site / "editable.pth").write_text(f"{project}/src\n")
    (project / "train.py").write_text("import sys, package\nprint(sys.prefix)\n")
    place, _ = make_runs(project, [".venv/bin/python", "train.py"], {}, environment=dict(os.environ), runs=1)
    assert [type(each) for each in outcomes(place).values()] == [Completed]
    run = place.runs()[0]
    assert printed(place) == [f"{run.work}/project/src/package/__init__.py\n{project}/.venv\n"]


def test_a_script_of_the_project_is_taken_from_the_copy(project):
    script = project / "run.sh"
    script.write_text(f'#!/bin/sh\npwd\n"{sys.executable}" train.py\n')
    script.chmod(0o755)
    (project / "train.py").write_text("")
    overlay = {"train.py": FileCode(source=b"", given=b"print(__dv__(0, 3))\n")}
    place, _ = make_runs(project, ["./run.sh"], overlay, environment=dict(os.environ))
    assert printed(place) == [f"{run.work}/project\n3\n" for run in place.runs()]
    assert values(place) == [3.0, 3.0]


def test_runs_have_cores_of_their_own_and_are_told_so(project):
    source = "import os\nprint(sorted(os.sched_getaffinity(0)), os.environ.get('MKL_NUM_THREADS')); record(1)\n"
    before = os.sched_getaffinity(0)
    place = made(project, source, jobs=len(before), options=ReplicateOptions(probe="nothing"))
    infos = [run.read_info() for run in place.runs()]
    assert printed(place) == [f"{info.cores} {info.threads}\n" for info in infos]
    assert {len(info.cores) for info in infos} == {1}
    assert os.sched_getaffinity(0) == before


GPUS = "import os\nprint(os.environ.get('CUDA_VISIBLE_DEVICES')); record(1)\n"


@pytest.mark.parametrize(
    ("chosen", "jobs", "given"),
    [("2,5", 2, {"2", "5"}), ("2,5", 1, {"2,5"}), ("GPU-a, GPU-b", 3, {"GPU-a", "GPU-b"}), ("5", 2, {"5"}),
     ("", 2, {""}), ("4,-1,5", 2, {"4,-1,5"})],
)  # fmt: skip
def test_gpus_that_the_user_has_chosen_are_shared_out(project, monkeypatch, chosen, jobs, given):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    place = made(project, GPUS, jobs=jobs, runs=3, options=ReplicateOptions(probe="nothing"))
    assert {text.strip() for text in printed(place)} == given
    assert {run.read_info().gpus for run in place.runs()} == given


def test_nothing_to_read_and_an_own_session(project):
    place = made(project, "import os, sys\nprint(repr(sys.stdin.read()), os.getsid(0) == os.getpid()); record(1)\n")
    assert printed(place) == ["'' True\n"] * 2


def test_a_training_that_crashes_is_kept_and_does_not_stop_the_others(project):
    source = (
        "import os\nrecord(1)\n"
        "if 'control-0' in os.getcwd(): os.abort()\n"
        "if 'control-1' in os.getcwd(): raise ValueError('bad')\n"
    )
    place = made(project, source, runs=3)
    found = outcomes(place)
    assert found["control-0"].signal == "SIGABRT"
    assert found["control-1"].stderr[-1] == "ValueError: bad"
    assert isinstance(found["control-2"], Completed)
    assert records(place)["run"].tolist() == [2]


def test_a_training_that_hangs_is_ended_with_all_it_started(project):
    source = (
        "import subprocess, sys, time\nrecord(1)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        "print(child.pid, flush=True); time.sleep(60)\n"
    )
    place = made(project, source, runs=1, options=ReplicateOptions(timeout=1.0))
    outcome = outcomes(place)["control-0"]
    assert isinstance(outcome, TimedOut)
    assert (outcome.signal, outcome.exit_code) == ("SIGTERM", None)
    child = int(printed(place)[0])
    assert not Path(f"/proc/{child}").exists() or "zombie" in Path(f"/proc/{child}/status").read_text()


def test_what_a_command_leaves_behind_is_ended_with_it(project, monkeypatch):
    monkeypatch.setattr("deviate.runs.executors.supervise.HELPER_QUIET", 1.0)
    source = (
        "import subprocess, sys\nrecord(1)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\nprint(child.pid)\n"
        "child.returncode = 0\n"
    )
    place = made(project, source, runs=1)
    assert isinstance(outcomes(place)["control-0"], Completed)
    child = int(printed(place)[0])
    assert not Path(f"/proc/{child}").exists() or "zombie" in Path(f"/proc/{child}/status").read_text()


def test_a_program_that_is_not_instrumented_is_said_to_be(project):
    (project / "train.py").write_text("print(1)\n")
    place, _ = make_runs(project, [sys.executable, "-I", "train.py"], {}, runs=1)
    outcome = outcomes(place)["control-0"]
    assert isinstance(outcome, NotInstrumented)
    assert "-I" in outcome.hint


@pytest.mark.parametrize("room_for_events", [True, False], ids=["a file-size limit", "no room for a note either"])
def test_a_run_that_lost_records_is_no_sample(project, room_for_events):
    """Where nothing can be appended any more the loss is written into space that was taken at the start."""
    source = f"""
import glob, os, resource
events = glob.glob(os.path.dirname(os.environ["DEVIATE_RUNTIME"]) + "/events-*.jsonl")[0]
limit = 4096 if {room_for_events} else os.stat(events).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
for step in range(500):
    acc = record(float(step))
"""
    (outcome,) = outcomes(made(project, source, runs=1)).values()
    assert outcome.status == "failed"
    assert outcome.reason.startswith("records of its metrics could not be written: [Errno 2")
    assert "--retry-failed" in outcome.hint


def test_equal_seeds_order_sets_alike_under_control_only(project):
    source = "print(list(set('abcdefghij'))); record(1)\n"
    place = made(project, source, variants=["control", "algo+impl"], runs=3)
    lines = {run.run.folder: run.stdout_file.read_text() for run in place.runs()}
    assert len({text for name, text in lines.items() if name.startswith("control")}) == 1
    assert len({text for name, text in lines.items() if name.startswith("algo")}) > 1


def start_tool(project, order):
    (project.parent / "order.json").write_text(json.dumps(order))
    tool = Path(__file__).with_name("replicate_tool.py")
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(tool), str(project.parent / "order.json")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.fixture
def order(project):
    source = "import time\nfor i in range(8):\n    print((i), flush=True); time.sleep(0.1)\n"
    (project / "train.py").write_text(source)
    overlay = {"train.py": source.replace("(i)", "__dv__(0, i)")}
    command = [sys.executable, "train.py"]
    return {"project": str(project), "command": command, "overlay": overlay, "runs": 3, "jobs": 2}


def test_a_killed_tool_goes_on_where_it_was(project, order):
    with start_tool(project, order) as tool:
        assert tool.stdout.readline().split()[1] == "completed"
        tool.kill()
    runs_folder = project / ".deviate" / "experiments" / "e" / "runs"
    finished = {path.parent for path in runs_folder.glob("*/outcome.json")}
    assert finished
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for run in finished for path in run.glob("records-*")}
    with start_tool(project, order) as tool:
        said, errors = tool.communicate(timeout=60)
    assert tool.returncode == 0, errors
    assert {line.split()[0] for line in said.splitlines()} == {f"control-{k}" for k in range(3)} - {
        run.name for run in finished
    }
    for path, (content, changed) in before.items():
        assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, changed)
    for run in runs_folder.iterdir():
        assert sum(path.stat().st_size for path in run.glob("records-*")) >= 8 * 24


def test_a_training_that_outlives_its_killed_tool_is_ended(project, order):
    order |= {"runs": 1, "jobs": 1}
    run = project / ".deviate" / "experiments" / "e" / "runs" / "control-0"
    with start_tool(project, order) as tool:
        wait_for(lambda: (run / "stdout.log").is_file() and (run / "stdout.log").read_text())
        tool.kill()
    pid = process_of(run)
    assert alive(pid)
    with start_tool(project, order) as tool:
        said, errors = tool.communicate(timeout=60)
    assert said == "control-0 completed\n", errors
    assert not alive(pid)
    assert len(list(run.glob("events-*"))) == 1


def test_ctrl_c_ends_what_runs_and_the_same_command_makes_it_again(project, order):
    run = project / ".deviate" / "experiments" / "e" / "runs" / "control-0"
    with start_tool(project, order) as tool:
        wait_for(lambda: (run / "stdout.log").is_file() and (run / "stdout.log").read_text())
        tool.terminate()
        said, _ = tool.communicate(timeout=60)
    assert {line.split()[1] for line in said.splitlines()} == {"cancelled"}
    assert not alive(process_of(run))
    with start_tool(project, order) as tool:
        said, errors = tool.communicate(timeout=60)
    assert [line.split()[1] for line in said.splitlines()] == ["completed"] * 3, errors


def process_of(run):
    return json.loads((run / "run.json").read_text())["pid"]


def alive(pid):
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "zombie" not in status.read_text()


def wait_for(condition):
    import time

    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within 30 s")
