"""Runs are followed by the files that workers leave, whatever the engine says of their jobs."""

import pytest
from scripted import Clock

from deviate.core.errors import ClusterRefused, RunElsewhere
from deviate.core.experiment import Experiment, Run
from deviate.core.interrupts import StopRequests
from deviate.runs import lease as leases
from deviate.runs.engines import engine as module
from deviate.runs.engines.engine import MOST_ATTEMPTS, JobState, Known, Place, PrintStage, RemoteStage
from deviate.runs.events import Idle, LeftToCluster, RunEnded, RunLost, RunProgress, RunStarted, Submitted, Waits
from deviate.runs.experiment import elsewhere
from deviate.runs.lease import Holder, LeaseHeld
from deviate.runs.orders import Order, read_job, read_order
from deviate.runs.prepare import Source
from deviate.runs.request import ReplicateOptions
from deviate.runs.snapshot.manifest import describe, read_snapshot, take
from deviate.runs.todo import Todo
from deviate.source.edits import FileCode
from deviate.store.folders import RunFolder, Workspace
from deviate.store.records import Progressed
from deviate.store.run_files import Cancelled, Completed, Failed


class Scripted:
    """An engine whose workers do what `work` does with their run, when the engine is asked about them."""

    name = "scripted"
    address = ""
    threads = 2

    def __init__(self, work=lambda run: "GONE", refuses=False):
        self.work, self.refuses = work, refuses
        self.submitted, self.cancelled, self.asked = [], [], 0
        self.silent = False

    def check(self):
        pass

    def script(self, submission):
        return f"script of {len(submission.runs)}"

    def submit(self, submission):
        if self.refuses:
            raise ClusterRefused("no such partition")
        self.submitted.append(submission)

    def states(self):
        self.asked += 1
        if self.silent:
            return None
        states = {}
        for submission in self.submitted:
            for task, run in enumerate(submission.runs):
                word = self.work(run) if read_job(run) is not None else "COMPLETED"
                states[Place(submission.name, task)] = JobState(word, word in ("RUNNING", "PENDING"), "Priority")
        return states

    def cancel(self, submissions):
        self.cancelled += submissions

    def cancel_words(self, submissions):
        return "scancel"


class Followed(RemoteStage):
    """A stage whose clock goes on while there is nothing to do."""

    def run_all(self, stop):
        for event in super().run_all(stop):
            if isinstance(event, Idle):
                self._clock.now += event.seconds
            else:
                yield event


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text("")
    workspace = Workspace(tmp_path)
    workspace.prepare()
    folder = workspace.experiment("e")
    take(describe(tmp_path), folder)
    return folder


@pytest.fixture
def clock():
    return Clock()


OVERLAY = {"train.py": FileCode(source=b"\xff", given=b"\xfe", columns={1: [(0, 1, 0)]})}


def opened(folder, clock, engine, runs=2, print_only=False, **options):
    experiment = Experiment(name="e", command=["sh", "--key", "secret"], entry="train.py", metrics=[], main_loop=None,
                            source="", seed=7, planned={"control": runs}, created="")  # fmt: skip
    options = ReplicateOptions(**options)
    source = Source(experiment=experiment, folder=folder, snapshot=read_snapshot(folder), overlay={}, environment={},
                    program=folder.path, executor="scripted", jobs=1)  # fmt: skip
    order = Order(experiment=experiment, overlay=OVERLAY, step_overlays={}, options=options,
                  executor="scripted", threads=2, git=None, printed=print_only)  # fmt: skip
    todo = Todo(source, options, lambda run: run)
    stage = Followed(source, todo, Known(engine, clock), order, clock=clock)
    if print_only:
        stage = PrintStage(source, todo, engine, order)
    list(stage.recover())
    return stage


def ends(outcome):
    def work(run):
        run.write_outcome(outcome)
        run.job_file.unlink()
        run.worker.rmdir()
        return "COMPLETED"

    return work


def kinds(events, *chosen):
    return [event for event in events if isinstance(event, chosen)]


def test_the_first_run_goes_before_the_others_and_all_are_read_from_their_files(folder, clock):
    engine = Scripted(ends(Completed(seconds=1.0)))
    events = list(opened(folder, clock, engine, runs=4).run_all(StopRequests()))
    assert [len(submission.runs) for submission in engine.submitted] == [1, 3]
    assert len(kinds(events, RunEnded)) == 4


def test_others_are_handed_over_once_the_first_run_has_recorded_an_iteration(folder, clock, monkeypatch):
    engine = Scripted(lambda run: "RUNNING")
    stream = opened(folder, clock, engine, runs=3, probe="iteration").run_all(StopRequests())
    assert next(stream).runs == 1
    holder = Holder(host="h", system="s", pid=1, created=0.0, start="", beat="")
    monkeypatch.setattr(module, "live_holder", lambda run: holder)
    monkeypatch.setattr(RunFolder, "read_info", lambda run: object())
    monkeypatch.setattr(module, "part_progress", lambda *_: Progressed(0, {"acc": 0.5}, None))
    assert [type(next(stream)) for _ in range(3)] == [RunStarted, RunProgress, RunProgress]
    monkeypatch.setattr(module, "part_progress", lambda *_: Progressed(1, {"acc": 0.5}, 0))
    assert [event.runs for event in (next(stream), next(stream)) if isinstance(event, Submitted)] == [2]


def test_a_failed_run_has_ended_and_a_cancelled_one_is_handed_over_again(folder, clock):
    elsewhere = Cancelled(seconds=0.0, reason="not started: another processor", hint="start it on such a machine")
    outcomes = iter([Cancelled(seconds=1.0, reason=""), elsewhere, Failed(seconds=1.0, reason="it failed")])
    engine = Scripted(lambda run: ends(next(outcomes))(run))
    events = list(opened(folder, clock, engine, runs=1).run_all(StopRequests()))
    assert [event.state for event in kinds(events, RunLost)] == ["COMPLETED", "not started: another processor"]
    assert {(event.number, event.total) for event in kinds(events, RunStarted)} == {(1, 1)}
    assert [event.outcome.status for event in kinds(events, RunEnded)] == ["failed"]


def test_a_run_whose_job_ends_before_it_again_and_again_is_given_up(folder, clock):
    engine = Scripted(lambda run: "TIMEOUT")
    stream = opened(folder, clock, engine, runs=1).run_all(StopRequests())
    with pytest.raises(ClusterRefused, match=f"{MOST_ATTEMPTS} times.*TIMEOUT") as raised:
        list(stream)
    assert "--set time=" in raised.value.hint
    assert len(engine.submitted) == MOST_ATTEMPTS


def test_nothing_is_handed_over_again_while_the_engine_is_silent_or_the_worker_lives(folder, clock, monkeypatch):
    engine = Scripted()
    stream = opened(folder, clock, engine, runs=1).run_all(StopRequests())
    assert isinstance(next(stream), Submitted)
    engine.silent = True
    monkeypatch.setattr(module.RemoteStage, "_waiting", lambda self: iter([None]))
    assert [next(stream) for _ in range(200)] == [None] * 200
    engine.silent = False
    holder = Holder(host="h", system="s", pid=1, created=0.0, start="", beat="")
    monkeypatch.setattr(module, "live_holder", lambda run: holder)
    assert [next(stream) for _ in range(200)] == [None] * 200
    assert len(engine.submitted) == 1


def test_what_was_handed_over_by_a_tool_that_is_gone_is_followed(folder, clock):
    engine = Scripted(lambda run: "RUNNING")
    first = opened(folder, clock, engine, runs=2, probe="nothing").run_all(StopRequests())
    assert next(first).runs == 2
    engine.work = ends(Completed(seconds=1.0))
    second = opened(folder, clock, engine, runs=2, probe="nothing")
    assert len(kinds(list(second.run_all(StopRequests())), RunEnded)) == 2
    assert len(engine.submitted) == 1


def test_the_user_leaves_jobs_and_a_caller_that_has_seen_enough_ends_them(folder, clock):
    engine = Scripted(lambda run: "PENDING")
    stage = opened(folder, clock, engine, runs=1)
    stop = StopRequests()
    stream = stage.run_all(stop)
    assert [type(next(stream)) for _ in range(2)] == [Submitted, Waits]
    stop.ask()
    assert [event.runs for event in stream] == [1]
    assert engine.cancelled == []
    again = opened(folder, clock, engine, runs=1).run_all(StopRequests())
    next(again)
    again.close()
    assert engine.cancelled == [engine.submitted[0].name]


def test_what_is_refused_was_never_handed_over(folder, clock):
    with pytest.raises(ClusterRefused):
        list(opened(folder, clock, Scripted(refuses=True)).run_all(StopRequests()))
    assert all(read_job(run) is None for run in folder.runs())
    assert not list(folder.submissions.iterdir())


def test_a_script_that_is_printed_is_that_of_all_runs_and_its_order_is_the_users_alone(folder, clock):
    engine = Scripted()
    events = list(opened(folder, clock, engine, runs=3, print_only=True).run_all(StopRequests()))
    assert [(event.script, event.sent) for event in events] == [("script of 3", False)]
    assert engine.submitted == []
    again = list(opened(folder, clock, engine, runs=3, print_only=True).run_all(StopRequests()))
    assert [event.script for event in again] == ["script of 3"]
    job = read_job(folder.run(Run(variant="control", index=2)))
    assert read_order(folder, job).overlay == OVERLAY
    assert (folder.submissions / job.submission).stat().st_mode & 0o077 == 0


def test_a_failed_run_that_is_to_be_made_again_is_not_found_done(folder, clock):
    run = folder.run(Run(variant="control", index=0))
    run.path.mkdir(parents=True)
    run.write_outcome(Failed(seconds=1.0, reason=""))
    list(opened(folder, clock, Scripted(), runs=1, print_only=True, retry_failed=True).run_all(StopRequests()))
    assert not run.is_done


def test_the_engine_is_asked_less_and_less(folder, clock):
    engine = Scripted(lambda run: "PENDING")
    stream = opened(folder, clock, engine, runs=1).run_all(StopRequests())
    next(stream), next(stream)
    engine.work = lambda run: "PENDING" if clock.now < 3700 else ends(Completed(seconds=1.0))(run)
    list(stream)
    assert engine.asked < 3600 / 25


def test_a_run_that_is_made_elsewhere_is_not_made_here():
    error = elsewhere("control-0", LeaseHeld(Holder(host="node7", system="", pid=5, created=0.0, start="", beat="")))
    assert isinstance(error, RunElsewhere)
    assert "process 5 of node7" in error.message
    assert leases.BEAT_EVERY * 4 < leases.STALE


def test_a_script_that_was_printed_and_not_submitted_is_not_lost(folder, clock):
    list(opened(folder, clock, Scripted(), print_only=True).run_all(StopRequests()))
    engine = Scripted(ends(Completed(seconds=1.0)))
    events = list(opened(folder, clock, engine).run_all(StopRequests()))
    assert [len(kinds(events, kind)) for kind in (RunLost, Submitted, RunEnded)] == [0, 2, 2]


def test_who_stops_hears_what_goes_on_and_what_is_not_handed_over(folder, clock):
    stop = StopRequests()
    stream = opened(folder, clock, Scripted(lambda run: "RUNNING"), runs=3).run_all(stop)
    assert isinstance(next(stream), Submitted)
    stop.count = 1
    (left,) = kinds(stream, LeftToCluster)
    assert (left.runs, left.waiting, len(left.submissions), left.cells) == (1, 2, 1, 1)
