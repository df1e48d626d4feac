"""No way in which a program treats its process breaks the program, and as much as can be is recorded."""

from __future__ import annotations

import ast
import os
import signal
import sys
import textwrap
from pathlib import Path

import pytest
from installed import require
from programs import INJECTED, LOSS, Run

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


@pytest.mark.parametrize("path", sorted(INJECTED.rglob("*.py")), ids=lambda path: path.name)
def test_the_runtime_is_python_3_7(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_the_injected_folder_holds_two_names() -> None:
    assert {path.name for path in INJECTED.iterdir()} - {"__pycache__"} == {"sitecustomize.py", "deviate_runtime"}


def test_without_its_variable_the_runtime_is_not_even_loaded(run: Run) -> None:
    source = "import sys\nprint('deviate_runtime' in sys.modules, '__dv__' in dir(__builtins__))"
    assert run(source, runtime=False, path=(INJECTED,)).stdout == "False False\n"


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", '{"records": 3}'])
def test_a_broken_runtime_file_harms_nothing(run: Run, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_text(content)
    outcome = run("print('on')", runtime=False, path=(INJECTED,), environment={"DEVIATE_RUNTIME": str(path)})
    assert (outcome.stdout, outcome.stderr, outcome.status) == ("on\n", "", 0)


def test_started_twice_it_starts_once(run: Run, python: str) -> None:
    source = "import site\nsite.main()\nimport deviate_runtime\ndeviate_runtime.start()\n__dv__(0, 1.0)"
    outcome = run(source, python=python)
    assert (outcome.stderr, outcome.values(), len(outcome.of("start"))) == ("", [1.0], 1)


def test_the_start_and_the_end_are_said(run: Run, python: str) -> None:
    outcome = run("pass", python=python)
    (start,), (end,), (environment,) = outcome.of("start"), outcome.of("end"), outcome.of("environment")
    assert start["argv"][-1] == "program.py"
    assert start["rank"] is None
    assert start["pid"] in outcome.events_of
    assert end["reason"] == "exit"
    assert environment["cores"] >= 1
    assert outcome.records_of == {}


def test_the_version_of_a_library_that_loads_its_parts_late_is_said(run: Run) -> None:
    source = "import sys, types\nlate = sys.modules['transformers'] = types.ModuleType('transformers')\n"
    (environment,) = run(source + "late._objects = {'__version__': '5.0'}").of("environment")
    assert environment["libraries"]["transformers"] == "5.0"


@pytest.mark.parametrize("variable", ["RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "LOCAL_RANK"])
def test_the_launcher_tells_the_rank(run: Run, variable: str) -> None:
    assert run("pass", environment={variable: "3"}).of("start")[0]["rank"] == 3


def test_the_rank_of_a_distributed_training_is_learnt(run: Run, tmp_path: Path) -> None:
    require("torch")
    source = f"""
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="file://{tmp_path}/meet", rank=0, world_size=1)
    for epoch in __dv_loop__(range(2)):
        pass
    dist.destroy_process_group()
    """
    outcome = run(textwrap.dedent(source))
    assert outcome.of("rank") == [{"event": "rank", "rank": 0}], outcome.stderr


class TestShadowedStart:
    """The user's own sitecustomize runs as it would have."""

    def test_it_runs_and_is_the_module_of_that_name(self, run: Run, tmp_path: Path, python: str) -> None:
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "sitecustomize.py").write_text("print('own start', __name__)\nflag = 1")
        source = "import sitecustomize\nprint(sitecustomize.flag, sitecustomize.__file__)"
        outcome = run(source, python=python, path=(tmp_path / "own",))
        bare = run(source, python=python, path=(tmp_path / "own",), runtime=False)
        assert outcome.stdout == bare.stdout
        assert outcome.stdout.startswith("own start sitecustomize\n1 ")

    def test_its_failure_is_told_as_it_would_be(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "sitecustomize.py").write_text("1 / 0")
        outcome = run("print('on')\n__dv__(0, 1.0)", path=(tmp_path / "own",))
        assert (outcome.stdout, outcome.values()) == ("on\n", [1.0])
        assert "ZeroDivisionError: division by zero" in outcome.stderr

    def test_without_one_nothing_is_said(self, run: Run) -> None:
        assert run("pass").stderr == ""


class TestEnds:
    """However a process ends, its records are there."""

    @pytest.mark.parametrize(
        ("ending", "status"),
        [
            ("import os; os._exit(3)", 3),
            ("import sys; sys.exit(4)", 4),
            ("raise ValueError('x')", 1),
            ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
            ("raise SystemExit", 0),
        ],
    )
    def test_inside_the_loop(self, run: Run, ending: str, status: int, python: str) -> None:
        source = f"for i in __dv_loop__(range(5)):\n    __dv__(0, float(i))\n    if i == 2:\n        {ending}"
        outcome = run(source, python=python)
        assert (outcome.status, outcome.values()) == (status, [0.0, 1.0, 2.0])

    def test_an_interrupt_while_a_value_is_read_reaches_the_program(self, run: Run) -> None:
        source = """
        import os, signal
        class Slow:
            def __float__(self):
                os.kill(os.getpid(), signal.SIGINT)
                return 1.0
        try:
            __dv__(0, Slow())
        except KeyboardInterrupt:
            print("interrupted")
        __dv__(0, 2.0)
        """
        outcome = run(textwrap.dedent(source))
        assert (outcome.stdout, outcome.stderr) == ("interrupted\n", "")
        assert outcome.values()[-1] == 2.0

    def test_an_exception_of_a_signal_handler_reaches_the_program(self, run: Run, python: str) -> None:
        source = """
        import os, signal
        class TimeUp(Exception): pass
        def ring(number, frame): raise TimeUp
        signal.signal(signal.SIGALRM, ring)
        class Slow:
            def __float__(self):
                os.kill(os.getpid(), signal.SIGALRM)
                for _ in range(1000): pass
                return 1.0
        beside = lambda: __dv_beside__(0, 1, lambda: Slow())
        for call in (lambda: __dv__(0, Slow()), lambda: __dv_map__(3, {"a": Slow()}), beside):
            try:
                call()
                print("swallowed")
            except TimeUp:
                print("time is up")
        """
        outcome = run(textwrap.dedent(source), python=python)
        assert (outcome.stdout, outcome.stderr) == ("time is up\n" * 3, "")


class TestFiles:
    """Trouble with the files the runtime writes."""

    def test_a_full_disk_costs_records_only(self, run: Run, python: str) -> None:
        source = """
        import resource, signal
        __dv__(0, 0.0)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
        for i in range(1, 200):
            assert __dv__(0, float(i)) == i
        print("on")
        """
        outcome = run(textwrap.dedent(source), python=python)
        assert (outcome.stdout, outcome.stderr, outcome.status) == ("on\n", "", 0)
        assert outcome.values() == [float(i) for i in range(169)]
        assert len(outcome.notes("record-file-unwritable")) == 1
        assert [event["reason"][:10] for event in outcome.of("records-lost")] == ["[Errno 27]"]
        assert outcome.lost == 31

    def test_recording_goes_on_when_there_is_room_again(self, run: Run) -> None:
        source = """
        import resource, deviate_runtime
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        for i in range(8):
            __dv__(0, float(i))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        deviate_runtime.process.records.silent_until = 0.0  # a moment later
        __dv__(0, 10.0)
        """
        outcome = run(textwrap.dedent(source))
        assert outcome.values() == [10.0], outcome.stderr
        assert outcome.notes("records-lost") == ["8 records could not be written"]

    @pytest.mark.parametrize("folder", ["/dev/null", "/nonexistent/folder", "/dev/full", "\0"])
    def test_a_folder_that_cannot_be_written_costs_records_only(self, run: Run, folder: str, python: str) -> None:
        source = "for i in __dv_loop__(range(3)):\n    print(__dv__(0, 0.5))"
        outcome = run(source, python=python, records=folder)
        assert (outcome.stdout, outcome.stderr, outcome.status) == ("0.5\n" * 3, "", 0)

    def test_a_deleted_folder_is_not_made_again(self, run: Run, tmp_path: Path) -> None:
        source = f"""
        import shutil
        __dv__(0, 0.0)
        shutil.rmtree({str(tmp_path / "records")!r})
        for i in range(200):
            assert __dv__(0, 1.0) == 1.0
        """
        outcome = run(textwrap.dedent(source))
        assert (outcome.stdout, outcome.stderr, outcome.status) == ("", "", 0)
        assert not (tmp_path / "records").exists()

    def test_a_deleted_file_is_not_made_again_and_said(self, run: Run, tmp_path: Path) -> None:
        source = f"""
        import pathlib
        __dv__(0, 0.0)
        for path in pathlib.Path({str(tmp_path / "records")!r}).glob("records-*"):
            path.unlink()
        __dv__(0, 1.0)
        """
        outcome = run(textwrap.dedent(source))
        assert (outcome.records_of, len(outcome.notes("record-file-deleted"))) == ({}, 1)
        assert [event["reason"] for event in outcome.of("records-lost")] == ["the records file was deleted"]

    @pytest.mark.parametrize("taking", [
        "os.closerange(3, 4096); files = [os.open(f, flags) for f in names]",
        "files = [os.open(f, flags) for f in names]; [os.dup2(files[0], number) for number in range(3, 2000)]",
        "[os.close(int(n)) for n in os.listdir('/proc/self/fd')[3:-1]]; files = [os.open(f, flags) for f in names]",
    ])  # fmt: skip
    def test_a_program_that_takes_every_descriptor_keeps_its_own_files(
        self, run: Run, work: Path, python: str, taking: str
    ) -> None:
        source = f"""
        import os, resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        names, flags = ["own-%d" % i for i in range(1100)], os.O_WRONLY | os.O_CREAT | os.O_APPEND
        __dv__(0, 0.0)
        {taking}
        for i in range(1, 1000):
            __dv__(0, float(i))
        for file in files:
            os.write(file, b"mine")
        """
        outcome = run(textwrap.dedent(source), python=python)
        assert (outcome.stderr, outcome.values()) == ("", [float(i) for i in range(1000)])
        assert b"".join(path.read_bytes() for path in work.glob("own-*")) == b"mine" * 1100

    def test_the_program_has_the_descriptors_that_it_has_bare(self, run: Run, python: str) -> None:
        source = """
        import os
        print(sorted(os.listdir("/proc/self/fd")))
        for i in __dv_loop__(range(500)):
            __dv__(0, float(i))
        print(sorted(os.listdir("/proc/self/fd")))
        """
        before, after = run(textwrap.dedent(source), python=python).stdout.splitlines()
        assert before == after

    def test_a_thread_that_closes_every_descriptor_costs_nothing(self, run: Run) -> None:
        source = """
        import os, threading, time
        going = True
        def close():
            while going:
                os.closerange(3, 64)
                time.sleep(0.0002)
        thread = threading.Thread(target=close)
        thread.start()
        for i in range(3000):
            __dv__(0, float(i))
        going = False
        thread.join()
        """
        outcome = run(textwrap.dedent(source))
        assert (outcome.stderr, outcome.values()) == ("", [float(i) for i in range(3000)])

    @pytest.mark.parametrize("missing", ["del os.posix_fallocate", "mmap.mmap = lambda *_, **__: os.stat('absent')"])
    def test_without_maps_each_record_is_written(self, run: Run, missing: str, python: str) -> None:
        source = f"""
        import mmap, os
        {missing}
        for i in range(300):
            __dv__(0, float(i))
        os.kill(os.getpid(), 9)
        """
        outcome = run(textwrap.dedent(source), python=python)
        assert (outcome.stderr, outcome.values()) == ("", [float(i) for i in range(300)])

    def test_a_few_records_leave_a_block_and_many_little_more_than_they_take(self, run: Run, tmp_path: Path) -> None:
        for count, most in ((1, 4096), (100_000, 2 * 24 * 100_000)):
            assert len(run(f"for i in range({count}): __dv__(0, 1.0)").values()) == count
            (path,) = (tmp_path / "records").glob("records-*.bin")
            assert path.stat().st_size <= most

    def test_a_signal_handler_that_records_while_room_is_made_loses_nothing(self, run: Run) -> None:
        source = """
        import itertools, signal
        counted = itertools.count()
        def ring(number, frame):
            for _ in range(3):
                __dv__(2, float(next(counted)), lambda: "ring")
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        for i in range(50000):
            __dv__(0, float(i))
        signal.setitimer(signal.ITIMER_REAL, 0)
        """
        outcome = run(textwrap.dedent(source))
        rung = outcome.named("ring acc")
        assert (outcome.stderr, outcome.values()) == ("", [float(i) for i in range(50000)])
        assert sorted(rung) == [float(i) for i in range(len(rung))]

    def test_another_working_folder_changes_nothing(self, run: Run) -> None:
        source = "import os\nos.chdir('/')\n__dv__(0, 1.0)\nos.chdir('/tmp')\n__dv__(0, 2.0)"
        assert run(source).values() == [1.0, 2.0]


class TestProcesses:
    """Each process has its own files."""

    @needs_fork
    def test_a_fork_writes_its_own_files(self, run: Run, python: str) -> None:
        source = """
        import os
        for i in __dv_loop__(range(2)):
            __dv__(0, float(i))
        child = os.fork()
        if child == 0:
            __dv__(0, 7.0)
            __dv__(2, 8.0, lambda: "child")
            os._exit(0)
        os.waitpid(child, 0)
        __dv__(0, 2.0)
        print(child)
        """
        outcome = run(textwrap.dedent(source), python=python)
        child = int(outcome.stdout)
        parent = next(pid for pid in outcome.records_of if pid != child)
        assert [r.value for r in outcome.records_of[parent] if r.metric == 0] == [0.0, 1.0, 2.0]
        assert [(r.value, r.iteration) for r in outcome.records_of[child] if r.metric == LOSS] == [(7.0, 1)]
        start = outcome.events_of[child][0]
        assert (start["event"], start["pid"], start["ppid"]) == ("start", child, parent)

    @needs_fork
    def test_a_fork_with_nothing_to_say_leaves_no_file(self, run: Run) -> None:
        source = "import os\n__dv__(0, 1.0)\nif os.fork() == 0:\n    raise SystemExit\nos.wait()"
        outcome = run(source)
        assert len(outcome.events_of) == len(outcome.records_of) == 1

    @needs_fork
    def test_a_daemon_goes_on_recording(self, run: Run) -> None:
        source = """
        import os
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.chdir("/")
                os.closerange(0, 3)
                __dv__(0, 5.0)
                os.write(writer, b"x")
            os._exit(0)
        os.read(reader, 1)
        """
        assert run(textwrap.dedent(source)).values() == [5.0]

    @pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
    def test_workers_write_their_own_files(self, run: Run, method: str, python: str) -> None:
        source = f"""
        import multiprocessing
        def work(i):
            return __dv__(0, float(i))
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                print(sorted(pool.map(work, range(6))))
        """
        outcome = run(textwrap.dedent(source), python=python)
        assert (outcome.stdout, outcome.status) == ("[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]\n", 0)
        assert sorted(outcome.values()) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert all(outcome.events_of[pid][0]["event"] == "start" for pid in outcome.records_of)

    def test_a_program_that_starts_itself_anew_is_heard_twice(self, run: Run) -> None:
        source = """
        import os, sys
        __dv__(0, float(len(sys.argv)))
        if len(sys.argv) == 1:
            os.execv(sys.executable, [sys.executable, "program.py", "again"])
        """
        outcome = run(textwrap.dedent(source))
        assert (sorted(outcome.values()), len(outcome.of("start"))) == ([1.0, 2.0], 2)

    def test_threads_lose_no_record(self, run: Run) -> None:
        source = """
        import threading
        def work():
            for i in range(2000):
                __dv__(0, float(i))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """
        outcome = run(textwrap.dedent(source))
        assert (outcome.stderr, sorted(outcome.values())) == ("", sorted([float(i) for i in range(2000)] * 4))

    def test_a_function_that_reports_can_be_pickled(self, run: Run) -> None:
        source = """
        import pickle
        def report(value):
            return __dv__(0, value)
        print(pickle.loads(pickle.dumps(report))(1.5))
        """
        assert run(textwrap.dedent(source)).stdout == "1.5\n"


class TestTraces:
    """The runtime changes nothing that a program could look at."""

    def test_random_numbers_warnings_and_signals_are_as_without_it(self, run: Run, python: str) -> None:
        source = """
        import random, signal, sys, threading, warnings, gc
        random.seed(5)
        {loop}
        print(random.random(), warnings.filters, [signal.getsignal(n) for n in (2, 13, 15)])
        print(threading.active_count(), sys.flags, gc.get_threshold(), sys.getrecursionlimit(), sys.gettrace())
        print(sorted(name for name in globals() if name != "i"))
        """
        source = textwrap.dedent(source)
        calls = "for i in __dv_loop__(range(3)): __dv__(0, 1.0); __dv_map__(3, {'a': None})"
        with_runtime = run(source.replace("{loop}", calls), python=python)
        bare = run(source.replace("{loop}", ""), python=python, runtime=False)
        assert with_runtime.stdout == bare.stdout
        assert with_runtime.stderr == bare.stderr == ""

    def test_a_failed_import_is_told_as_it_would_be(self, run: Run) -> None:
        outcome = run(
            "try:\n    import keras.src.callbacks.nothing_here, torch\nexcept ImportError as e:\n    print(e.name)",
            environment={"KERAS_BACKEND": "jax"},
        )
        assert outcome.stderr == ""
        assert outcome.notes("library-unattended") == []

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_no_descriptor_is_open_before_the_first_record(self, run: Run) -> None:
        source = "import os\nprint(sorted(os.listdir('/proc/self/fd')))"
        assert run(source).stdout == run(source, runtime=False).stdout
