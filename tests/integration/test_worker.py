"""``deviate-worker RUN_DIR`` makes what the job in the run's folder says, once, whatever happens to it."""

import os
import signal
import subprocess
import sys
import time

import msgspec
import psutil
import pytest
from replicate_tool import open_experiment

from deviate.core.errors import RunElsewhere
from deviate.core.experiment import Run, Step
from deviate.runs.lease import acquire
from deviate.runs.orders import Order, read_job, write_submission
from deviate.runs.request import ReplicateOptions
from deviate.runs.scratch import opened
from deviate.store.files import write_json
from deviate.store.folders import ExperimentFolder
from deviate.store.run_files import Cancelled, Completed, Failed

TRAIN = """
import os, sys, time
with open("../../../log", "a") as log:
    log.write("x")
for _ in range(int(sys.argv[1])):
    time.sleep(0.1)
print(os.environ["OMP_NUM_THREADS"], open("data.txt").read())
"""

WORKER = [sys.executable, "-P", "-m", "deviate.runs.worker"]

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "data.txt").write_text("data")
    return tmp_path


def handed(project, pauses=0, steps=(), scratch="", index=0, **options):
    """Hand a run over, by default control-0; return its folder."""
    place, experiment = open_experiment(project, [sys.executable, "train.py", str(pauses)], runs=1)
    experiment = msgspec.structs.replace(experiment, steps=list(steps))
    order = Order(experiment=experiment, overlay={}, step_overlays={}, options=ReplicateOptions(**options),
                  executor="slurm", threads=3, git=None, scratch=str(scratch))  # fmt: skip
    run = place.run(Run(variant="control", index=index))
    write_submission(place, order, [run])
    return run


def work(run, **kwargs):
    return subprocess.run([*WORKER, str(run.path)], capture_output=True, text=True, timeout=60, check=True, **kwargs)


def trained(run):
    log = run.path.parent / "log"
    return len(log.read_text()) if log.exists() else 0


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_run_is_made_with_what_was_handed_over(project):
    run = handed(project)
    (project / "data.txt").write_text("edited since")
    said = work(run, env={**os.environ, "SLURM_JOB_ID": "77"}).stdout
    assert said == "control-0: completed\n"
    assert isinstance(run.read_outcome(), Completed)
    assert run.stdout_file.read_text() == "3 data\n"
    assert (run.read_info().executor, run.read_info().job) == ("slurm", "77")
    assert not run.worker.exists()


def test_what_is_done_or_never_asked_for_is_left_alone(project):
    run = handed(project)
    job = run.job_file.read_bytes()
    work(run)
    assert "nothing is to be done" in work(run).stdout
    # The same run was handed over twice.
    run.worker.mkdir()
    run.job_file.write_bytes(job)
    assert "done" in work(run).stdout
    assert trained(run) == 1
    assert not run.worker.exists()


def test_evaluations_that_lack_are_made_and_the_training_is_not(project):
    work(handed(project))
    step = Step(name="look", command=["cat", "data.txt"])
    run = handed(project, steps=[step])
    work(run)
    assert trained(run) == 1
    assert (run.step("look").stdout_file).read_text() == "data"


def test_two_workers_of_one_run_make_it_once(project):
    run = handed(project, pauses=10)
    workers = [subprocess.Popen([*WORKER, str(run.path)], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [worker.communicate(timeout=60)[0] for worker in workers]
    assert sum("completed" in text for text in said) == 1
    assert trained(run) == 1


@pytest.mark.parametrize("tied", [False, True])
def test_a_worker_that_is_asked_to_stop_leaves_the_run_to_be_made_again(project, tied):
    run = handed(project, pauses=300)
    worker = subprocess.Popen([*WORKER, *(["--tied"] if tied else []), str(run.path)], stdin=subprocess.PIPE)
    wait_for(lambda: trained(run))
    # Whoever started it is gone, or asks it.
    worker.stdin.close()
    if not tied:
        worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    outcome = run.read_outcome()
    assert isinstance(outcome, Cancelled)
    assert "cluster" in outcome.reason
    assert not run.is_done
    assert read_job(run) is None


def test_a_command_that_its_cluster_ends_with_its_worker_has_not_failed(project):
    run = handed(project, pauses=300)
    worker = subprocess.Popen([*WORKER, str(run.path)])
    wait_for(lambda: run.read_info() is not None and run.read_info().pid)
    # As a cluster does it: the training hears the signal before its worker does.
    os.kill(run.read_info().pid, signal.SIGTERM)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert isinstance(run.read_outcome(), Cancelled)


def test_a_command_that_ends_by_a_signal_of_its_own_has_failed(project):
    run = handed(project, pauses=300)
    worker = subprocess.Popen([*WORKER, str(run.path)])
    wait_for(lambda: run.read_info() is not None and run.read_info().pid)
    os.kill(run.read_info().pid, signal.SIGKILL)
    assert worker.wait(30) == 0
    assert isinstance(run.read_outcome(), Failed)


def test_the_next_worker_ends_what_a_killed_one_left_and_makes_the_run(project):
    run = handed(project, pauses=20)
    worker = subprocess.Popen([*WORKER, str(run.path)])
    wait_for(lambda: trained(run))
    orphan = run.read_info().pid
    worker.kill()
    worker.wait()
    assert "completed" in work(run).stdout
    assert trained(run) == 2
    with pytest.raises(ProcessLookupError):
        os.kill(orphan, 0)


SAVING = """
import os, sys, time
with open(os.environ["STARTS"], "a") as log:
    log.write("x")
os.makedirs("saved/deep")
for number in range(30):
    with open(f"saved/deep/{number}", "w") as file:
        file.write("weights" * 1000)
os.symlink(os.path.abspath("saved/deep/0"), "best")
print(os.getcwd(), flush=True)
time.sleep(float(os.environ.get("PAUSE", "0")))
"""


@pytest.fixture
def saving(project, monkeypatch):
    (project / "train.py").write_text(SAVING)
    (project / "scratch").mkdir()
    monkeypatch.setenv("STARTS", str(project / "starts"))
    monkeypatch.setenv("TMPDIR", str(project / "scratch"))
    return project


def left(project):
    """What is left on the disk of the machine."""
    return [path for path in project.glob("scratch/deviate-*/[!.]*") if path.is_dir()]


def saved(run):
    (copy,) = run.work.iterdir()
    return copy, {path.name: path.read_text() for path in copy.glob("saved/deep/*")}


def test_a_run_is_made_on_the_disk_of_its_machine_and_brought_back(saving):
    step = Step(name="look", command=["sh", "-c", "cat saved/deep/0; rm saved/deep/1; echo more > saved/more"])
    run = handed(saving, scratch="$TMPDIR", steps=[step])
    assert work(run).stdout == "control-0: completed\n"
    assert run.stdout_file.read_text().startswith(str(saving / "scratch"))
    assert isinstance(run.read_outcome(), Completed)
    assert not run.read_outcome().warnings
    assert run.read_info().scratch.startswith(str(saving / "scratch"))
    copy, files = saved(run)
    assert files == {str(number): "weights" * 1000 for number in range(30) if number != 1}
    assert (copy / "saved" / "more").read_text() == "more\n"
    assert os.readlink(copy / "best") == str(copy / "saved" / "deep" / "0")
    assert (run.step("look").stdout_file).read_text() == "weights" * 1000
    assert isinstance(run.step("look").read_outcome(), Completed)
    assert not run.worker.exists()
    assert not left(saving)


def test_runs_on_one_disk_are_made_of_one_copy_of_the_snapshot(saving):
    work(handed(saving, scratch="$TMPDIR"))
    run = handed(saving, scratch="$TMPDIR", index=1)
    data = run.source / "data.txt"
    before = data.stat()
    data.write_text("read")
    os.utime(data, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert work(run).stdout == "control-1: completed\n"
    assert (saved(run)[0] / "data.txt").read_text() == "data"


def test_what_is_discarded_is_never_brought_back(saving):
    run = handed(saving, scratch="$TMPDIR", keep_work=False)
    work(run)
    assert isinstance(run.read_outcome(), Completed)
    assert not run.work.exists()


@pytest.mark.parametrize("scratch", ["/no/such/folder", "$NOWHERE", "/proc"])
def test_where_the_disk_takes_no_run_it_is_made_in_its_folder_and_says_so(saving, scratch):
    run = handed(saving, scratch=scratch)
    assert work(run).stdout == "control-0: completed\n"
    (warning,) = run.read_outcome().warnings
    assert warning.startswith(f"scratch = {scratch} was not used on ")
    assert run.stdout_file.read_text().startswith(str(run.path))


def test_a_run_on_a_full_disk_is_made_again_in_its_folder(saving):
    run = handed(saving, scratch="$TMPDIR")
    full = "import deviate.runs.scratch as module; module.LEAST = 1 << 62\n"
    done = [sys.executable, "-c", full + "from deviate.runs.worker import main; main()", str(run.path)]
    assert subprocess.run(done, capture_output=True, text=True, check=True).stdout == "control-0: completed\n"
    assert run.read_outcome().warnings[0].endswith(": No space left on device")
    assert (saving / "starts").read_text() == "xx"
    assert len(saved(run)[1]) == 30
    assert not left(saving)


def test_a_worker_that_lost_its_run_brings_nothing(saving):
    run = handed(saving)
    lost, place = acquire(run), ExperimentFolder(run.path.parents[1])
    with opened("$TMPDIR", place, run.run, lost) as scratch:
        made = scratch.mirror.run(run.run)
        made.work.mkdir(parents=True)
        made.stdout_file.write_text("mine")
        scratch.bring(made, work=True)
        assert run.stdout_file.read_text() == "mine"
        write_json(lost.path.with_name("lease-000002.json"), lost.holder)
        run.stdout_file.write_text("another's")
        made.stdout_file.write_text("mine, later")
        scratch._looked = 0.0
        with pytest.raises(RunElsewhere):
            scratch.bring(made, work=True)
    assert run.stdout_file.read_text() == "another's"


def test_who_follows_a_run_sees_it_before_it_has_ended(saving, monkeypatch):
    monkeypatch.setenv("PAUSE", "20")
    run = handed(saving, scratch="$TMPDIR")
    quick = "import deviate.runs.worker as module; module.BEAT_EVERY = 0.2; module.main()"
    worker = subprocess.Popen([sys.executable, "-c", quick, str(run.path)])
    wait_for(lambda: run.stdout_file.is_file() and run.stdout_file.read_text())
    assert (run.read_info().pid, run.read_outcome()) != (None, None)
    assert not run.is_done
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert isinstance(run.read_outcome(), Cancelled)
    assert not left(saving)


def test_a_killed_worker_leaves_nothing_that_counts_and_the_next_one_clears_its_disk(saving, monkeypatch):
    monkeypatch.setenv("PAUSE", "60")
    run = handed(saving, scratch="$TMPDIR")
    worker = subprocess.Popen([*WORKER, str(run.path)])
    wait_for(lambda: run.read_info() is not None and (saving / "starts").is_file())
    worker.kill()
    worker.wait()
    training = run.read_info().pid
    assert psutil.pid_exists(training)
    assert len(left(saving)) == 1
    monkeypatch.setenv("PAUSE", "0")
    assert work(run).stdout == "control-0: completed\n"
    # What the killed one had started was ended.
    assert not psutil.pid_exists(training)
    assert len(saved(run)[1]) == 30
    assert (saving / "starts").read_text() == "xx"
    assert not left(saving)
