"""Commands that are forked: which may be, what they are then, and that all else is started in the ordinary way."""

import json
import os
import signal
import sys
import time

import pytest
from installed import require

from deviate.runs.executors.executor import Launch, Slot
from deviate.runs.executors.warm import Cold, WarmExecutor, split
from deviate.store.files import read_json
from deviate.store.run_files import Ended

CONTROLLED = {
    "control": "streams", "hold_impl": True, "strict": False, "threads": 1, "varying": [], "metrics": [], "draws": [],
    "seeds": dict.fromkeys(("init", "shuffle", "augment", "layers", "other", "data"), 7), "predictions": "none",
    "comparisons": [], "bit": None,
}  # fmt: skip

WORDS = [sys.executable, "train.py", "one"]


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a text as the program of a run, and how it is forked."""
    executors = []

    def begin(text, packages=("json",), words=WORDS, **order):
        run = tmp_path / f"run{len(executors)}"
        copy = run / "work"
        copy.mkdir(parents=True)
        (copy / "train.py").write_text(text)
        config = {**CONTROLLED, "records": str(run), "original": "/nowhere", "overlay": str(copy), **order}
        (run / "runtime.json").write_text(json.dumps(config))
        executors.append(executors[0] if executors else WarmExecutor(1, WORDS, packages))
        return executors[0], run, executors[0].start(launch(run, words))

    yield begin
    for executor in executors[:1]:
        executor.close()


def launch(run, words):
    from deviate.runs.environment import INJECTED

    environment = {
        **os.environ, "DEVIATE_RUNTIME": str(run / "runtime.json"), "PYTHONPATH": str(INJECTED), "PYTHONHASHSEED": "7",
        "PWD": str(run / "work"), "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    return Launch(
        argv=words, environment=environment, cwd=run / "work", stdout=run / "stdout.log", stderr=run / "stderr.log",
        slot=Slot(index=0), runtime_file=run / "runtime.json", ended_file=run / "ended.json",
    )  # fmt: skip


def ended(executor, run, handle):
    for _ in range(600):
        if not executor.poll(handle):
            return read_json(run / "ended.json", Ended)
        executor.wait(0.05)
    raise AssertionError("it did not end within 30 s")


def start_anew(executor, run):
    """Start the program of a run in the ordinary way; return its exit status."""
    process = super(WarmExecutor, executor).begin(launch(run, WORDS))
    while process.poll() is None:
        time.sleep(0.01)
    return process.returncode


SEEN = """
'''What a program may see of itself.'''
import json, os, random, sys
names = sorted(set("abcdefgh"), key=hash)
here = {name: str(value) for name, value in globals().items() if name not in ("__builtins__", "__loader__")}
print(json.dumps([sys.argv, sys.path, sys.orig_argv, os.getcwd(), here, names, random.random(), __loader__.path,
    sorted(item for item in os.environ.items() if item[0][:7] == "DEVIATE"), sys.flags.hash_randomization,
    os.getsid(0) == os.getpid(), sys.stdin.read(), sorted(os.listdir("/proc/self/fd")), sys.stdout.isatty()]))
"""


def test_a_forked_program_sees_what_a_started_one_does(start):
    executor, run, handle = start(SEEN)
    assert handle.warm == ("json",)
    end = ended(executor, run, handle)
    assert (end.status, end.cpu_seconds > 0, end.peak_memory > 1 << 20) == (0, True, True)
    forked = (run / "stdout.log").read_text()
    start_anew(executor, run)
    assert forked == (run / "stdout.log").read_text()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("def f():\n    raise ValueError(7)\nf()", 1),
        ("print(", 1),
        ("import sys; sys.exit(3)", 3),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import atexit; atexit.register(print, 'over'); raise SystemExit('why')", 1),
    ],
)
def test_a_forked_program_ends_as_a_started_one_does(text, status, start):
    executor, run, handle = start(text)
    assert (handle.warm, ended(executor, run, handle).status) == (("json",), status)
    said = [(run / name).read_text() for name in ("stdout.log", "stderr.log")]
    assert start_anew(executor, run) == status
    assert said == [(run / name).read_text() for name in ("stdout.log", "stderr.log")]


LEAVES = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\n"


def test_what_a_forked_program_leaves_behind_is_ended(start):
    executor, run, handle = start(LEAVES)
    assert ended(executor, run, handle).status == 0
    assert executor.end(handle) == 0


def test_without_the_process_it_was_forked_from_a_run_goes_on_and_the_next_is_started(start):
    executor, run, handle = start("import time; time.sleep(60)")
    (parent,) = executor._parents.values()
    parent._process.kill()
    parent._process.wait()
    assert executor.poll(handle)
    _, other, next_handle = start("print(7)")
    assert (next_handle.warm, ended(executor, other, next_handle).status) == ((), 0)
    assert executor.new_reasons() == ["the process with the imports has ended"]
    os.kill(handle.pid, signal.SIGKILL)
    assert ended(executor, run, handle).status == -signal.SIGKILL


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        ({"control": "observe"}, "not controlled"),
        ({"hold_impl": False}, "addresses in memory"),
        ({"varying": ["init", "other"]}, "the seed of hashes"),
    ],
)
def test_runs_that_must_have_nothing_in_common_are_started(order, reason, start):
    executor, run, handle = start("print(7)", **order)
    assert (handle.warm, ended(executor, run, handle).status) == ((), 0)
    (said,) = executor.new_reasons()
    assert reason in said
    assert executor.new_reasons() == []


def test_a_package_that_cannot_be_imported_is_the_reason(start):
    executor, run, handle = start("print(7)", packages=("not_installed_anywhere",))
    assert (handle.warm, ended(executor, run, handle).status) == ((), 0)
    assert "No module named 'not_installed_anywhere'" in executor.new_reasons()[0]


def test_a_package_that_leaves_threads_running_is_the_reason(start):
    require("pyarrow")
    executor, run, handle = start("print(7)", packages=("pyarrow",))
    reasons = executor.new_reasons()
    assert ended(executor, run, handle).status == 0
    assert handle.warm == ("pyarrow",) or "threads running" in reasons[0]


def test_a_module_of_the_project_that_stands_before_a_librarys_is_the_reason(start):
    executor, run, handle = start("print(7)")
    assert ended(executor, run, handle).status == 0
    (run / "work" / "json.py").write_text("")
    again = executor.start(launch(run, WORDS))
    assert (again.warm, ended(executor, run, again).status) == ((), 0)
    assert "a module json" in executor.new_reasons()[0]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["bash", "-c", "python train.py"], "does not begin with python"),
        (["python", "-c", "print(7)"], "a script or a module"),
        (["python", "-I", "train.py"], "a script or a module"),
        (["python"], "a script or a module"),
        (["python3.11", "/home/me/train.py"], "absolute path"),
    ],
)
def test_commands_that_are_not_forked(words, reason):
    with pytest.raises(Cold, match=reason):
        split(words)


def test_a_module_is_run_from_the_folder_of_the_command():
    words = split(["python", "-u", "-m", "pkg.train", "--lr", "1"])
    assert words.head == words.parent == ("python", "-u", "-m", "pkg.train")
    assert (words.program, words.folder) == (("-m", "--lr", "1"), "")


def test_a_process_that_nobody_orders_from_ends(start):
    executor, run, handle = start("print(7)")
    ended(executor, run, handle)
    (parent,) = executor._parents.values()
    os.close(parent._orders)
    assert parent._process.wait(timeout=30) == 0
    parent._orders = os.open(os.devnull, os.O_WRONLY)
