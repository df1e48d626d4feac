"""What the report takes is imported while runs go on, where a core is nobody's, and never beside runs on all cores."""

import contextlib
import subprocess
import sys
import threading

import pytest

from deviate.cli import progress as early
from deviate.core.experiment import Run
from deviate.core.interrupts import Stopped
from deviate.runs.events import RunEnded, RunProgress, RunStarted
from deviate.runs.executors.executor import Slot
from deviate.store.run_files import Completed

FIRST, SECOND = Run(variant="control", index=0), Run(variant="control", index=1)


@pytest.fixture
def imported(monkeypatch):
    """Return what observes runs on a machine of two cores, and the list of its imports."""
    done = []
    monkeypatch.setattr(early, "usable_cores", lambda: [0, 1])
    monkeypatch.setattr(early, "_import", lambda: done.append("all"))
    observer = early.EarlyImports()

    def observe(*events):
        for event in events:
            observer.observe(event)
        with observer:
            return done

    return observe


def starts(run, *cores):
    slot = Slot(index=run.index, cores=cores or None)
    return RunStarted(run=run, slot=slot, number=run.index + 1, total=2)


def goes_on(run):
    return RunProgress(run=run, seconds=1.0, iteration=None, values={})


def ends(run):
    return RunEnded(run=run, outcome=Completed(seconds=1.0, ended=""))


def test_while_the_first_run_is_alone_what_the_report_takes_is_imported_once(imported):
    assert imported(starts(FIRST, 0), goes_on(FIRST)) == []
    assert imported(goes_on(FIRST)) == ["all"]
    assert imported(starts(SECOND, 1), ends(FIRST), goes_on(SECOND), goes_on(SECOND)) == ["all"]


def test_nothing_is_imported_beside_runs_on_all_cores(imported):
    going = [goes_on(FIRST), goes_on(SECOND)] * 3
    assert imported(starts(FIRST, 0), starts(SECOND, 1), *going) == []
    # The core of one that has ended is the next one's in a moment.
    assert imported(ends(FIRST), goes_on(SECOND), starts(FIRST, 0), *going) == []
    assert imported(ends(FIRST), goes_on(SECOND), goes_on(SECOND)) == ["all"]


@pytest.mark.parametrize("cores", [(0, 1), ()])
def test_a_run_that_may_use_all_cores_is_left_alone(imported, cores):
    assert imported(starts(FIRST, *cores), *[goes_on(FIRST)] * 3) == []


@pytest.mark.parametrize(("error", "waits"), [(None, True), (ValueError(), True), (Stopped(15), False)])
def test_a_process_ends_in_order_only_after_the_imports_and_by_a_signal_at_once(monkeypatch, error, waits):
    begun, may_end = threading.Event(), threading.Event()
    monkeypatch.setattr(early, "usable_cores", lambda: [0, 1])
    monkeypatch.setattr(early, "_import", lambda: (begun.set(), may_end.wait()))
    threads = set(threading.enumerate())
    with contextlib.suppress(ValueError, Stopped), early.EarlyImports() as observer:
        for event in (starts(FIRST, 0), goes_on(FIRST), goes_on(FIRST)):
            observer.observe(event)
        begun.wait()
        (importing,) = set(threading.enumerate()) - threads
        if waits:
            threading.Timer(0.05, may_end.set).start()
        if error is not None:
            raise error
    assert importing.is_alive() is not waits
    may_end.set()
    importing.join()


def test_what_is_imported_is_what_the_report_takes():
    """Nothing that takes long is left for the end."""
    program = (
        "import sys; from deviate.cli import main, progress; progress._import(); before = set(sys.modules); "
        "from deviate import api; from deviate.cli.report import experiment_writers; experiment_writers(()); "
        "import deviate.report.writers.markdown, deviate.report.writers.terminal, deviate.facts.stored; "
        "print([name for name in set(sys.modules) - before if '.' not in name])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"
