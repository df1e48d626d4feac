"""The replicate stage with scripted trainings: order, resumption, outcomes, events."""

import json
import os
import signal

import pytest
from msgspec import structs
from scripted import Clock, ScriptedExecutor, ScriptedTraining, write_training

from deviate.core.errors import CommandNotFound, WorkspaceUnusable
from deviate.core.experiment import Capture, Experiment, Metric, Run, Step
from deviate.core.factors import parse_variant, run_seeds
from deviate.runs.events import LeftoverEnded, RunEnded, RunProgress, RunShared, RunStarted
from deviate.runs.executors.executor import Handle
from deviate.runs.experiment import replicate
from deviate.runs.request import ReplicateOptions
from deviate.runs.snapshot.manifest import describe, take
from deviate.runs.todo import schedule
from deviate.runs.work import LOOK_EVERY, end_leftover
from deviate.store.folders import Workspace
from deviate.store.run_files import Cancelled, Completed, Failed, NotInstrumented, TimedOut

METRIC = Metric(
    name="acc", variable="acc", expression="acc", file="train.py", line=1, end_line=1, function="<module>",
    sink="print", kind="quality", direction="higher", aggregate="best", confidence=1.0, why="",
    capture=Capture(how="value"),
)  # fmt: skip


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def folder(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "train.py").write_text("")
    workspace = Workspace(project)
    workspace.prepare()
    folder = workspace.experiment("e")
    take(describe(project), folder)
    return folder


def experiment(variants=("control",), runs=3, **changes):
    standard = {
        "name": "e", "command": ["sh", "train.sh"], "entry": "train.py", "metrics": [METRIC], "main_loop": None,
        "source": "", "seed": 7, "planned": dict.fromkeys(variants, runs), "created": "",
    }  # fmt: skip
    return Experiment(**(standard | changes))


def works(clock, seconds=1.0, values=None):
    def script(launch):
        write_training(launch, values)
        return ScriptedTraining(clock, seconds=seconds, obeys=(signal.SIGINT, signal.SIGTERM))

    return script


def make(folder, clock, script, /, jobs=1, options=None, environment=None, **changes):
    wanted = experiment(**changes)
    folder.write_experiment(wanted)
    executor = ScriptedExecutor(clock, script, jobs)
    user = environment or {"PATH": os.defpath}
    return executor, replicate(wanted, folder, {}, executor, options=options, environment=user, clock=clock)


def ended(events):
    return {event.run.folder: event.outcome for event in events if isinstance(event, RunEnded)}


def test_every_run_is_made_once_and_its_outcome_is_stored(folder, clock):
    executor, events = make(folder, clock, works(clock), variants=["control", "as-is"])
    outcomes = ended(events)
    assert set(outcomes) == {f"{variant}-{index}" for variant in ("control", "as-is") for index in range(3)}
    assert len(executor.launches) == 6
    for run in folder.runs():
        stored = run.read_outcome()
        assert set(stored.files) == {"records-1-1.bin", "events-1-1.jsonl"}
        assert structs.replace(stored, files={}) == outcomes[run.run.folder]
        assert isinstance(run.read_outcome(), Completed)


def test_the_same_call_again_makes_nothing_and_more_runs_are_added(folder, clock):
    list(make(folder, clock, works(clock))[1])
    assert list(make(folder, clock, works(clock))[1]) == []
    done = {run.run for run in folder.runs() if run.is_done}
    assert len(schedule(experiment(runs=5).planned, done, 7)) == 2
    events = make(folder, clock, works(clock), runs=5)[1]
    assert set(ended(events)) == {"control-3", "control-4"}


STEPS = [
    Step(name="setup", when="setup", command=["true"]),
    Step(name="evaluate", command=["sh", "evaluate.sh"], repeat=2),
    Step(name="cleanup", when="cleanup", command=["true"]),
]


def launched(executor):
    return [str(each.runtime_file.parent.relative_to(each.runtime_file.parents[-1])).split("/runs/")[1]
            for each in executor.launches]  # fmt: skip


def test_the_commands_of_a_run_follow_one_another_in_its_folder(folder, clock):
    executor, events = make(folder, clock, works(clock), runs=1, steps=STEPS)
    said = list(events)
    names = ("steps/setup-0", "", "steps/evaluate-0", "steps/evaluate-1", "steps/cleanup-0")
    assert launched(executor) == [f"control-0/{name}".rstrip("/") for name in names]
    assert len({launch.cwd for launch in executor.launches}) == 1
    assert isinstance(said[-1], RunEnded)
    # Its time is that of the training alone.
    assert said[-1].outcome.seconds < 2


def test_an_evaluation_that_was_interrupted_is_made_again_and_the_training_is_not(folder, clock):
    executor, events = make(folder, clock, works(clock), runs=1, steps=STEPS)
    for event in events:
        if isinstance(event, RunProgress) and event.step == "evaluate":
            break
    events.close()
    (run,) = folder.runs()
    assert isinstance(run.read_outcome(), Completed)
    assert isinstance(run.step("evaluate").read_outcome(), Cancelled)
    executor, events = make(folder, clock, works(clock), runs=1, steps=STEPS)
    said = list(events)
    assert "control-0" not in launched(executor)
    assert launched(executor)[1:3] == ["control-0/steps/evaluate-0", "control-0/steps/evaluate-1"]
    assert not said[-1].trained
    assert list(make(folder, clock, works(clock), runs=1, steps=STEPS)[1]) == []


def test_a_run_is_made_of_the_files_of_another_one_once_that_has_ended(folder, clock):
    def twin(run):
        return Run(variant="control", index=run.index)

    wanted = experiment(variants=["algo", "control"], runs=2)
    folder.write_experiment(wanted)
    executor = ScriptedExecutor(clock, works(clock, values={0: [0.5]}), jobs=2)
    said = list(replicate(wanted, folder, {}, executor, twin=twin, environment={"PATH": os.defpath}, clock=clock))
    assert sorted(launched(executor)) == ["control-0", "control-1"]
    shared = [event.run.folder for event in said if isinstance(event, RunShared)]
    assert sorted(shared) == ["algo-0", "algo-1"]
    for index in (0, 1):
        own, other = (folder.run(Run(variant=name, index=index)) for name in ("algo", "control"))
        assert own.read_info().same_as == f"control-{index}"
        assert own.read_outcome() == other.read_outcome()
        assert not own.work.exists()


def test_each_run_is_told_its_seed_and_its_room(folder, clock):
    executor, events = make(folder, clock, works(clock), jobs=2, variants=["algo+impl", "control", "as-is"], runs=2)
    list(events)
    for launch in executor.launches:
        order = json.loads(launch.runtime_file.read_text())
        variant, _, index = launch.runtime_file.parent.name.rpartition("-")
        seeds = run_seeds(parse_variant(variant), 7, int(index))
        assert order["seeds"] == seeds
        assert order["control"] == (None if variant == "as-is" else "streams")
        assert order["hold_impl"] == (variant == "control")
        assert order["threads"] == 1
        assert order["metrics"] == [{"name": "acc", "how": "value", "reads": "", "label": ""}]
        assert launch.environment.get("PYTHONHASHSEED") == (None if seeds is None else str(seeds["other"]))
        assert ("CUBLAS_WORKSPACE_CONFIG" in launch.environment) == (variant == "control")
        assert launch.environment["PWD"] == str(launch.cwd)


def test_a_metric_of_a_framework_is_told_under_the_name_the_framework_reports(folder, clock):
    reported = structs.replace(METRIC, name="my loss", variable="fit:loss", capture=Capture(how="framework"))
    executor, events = make(folder, clock, works(clock), runs=1, metrics=[reported])
    list(events)
    order = json.loads(executor.launches[0].runtime_file.read_text())
    assert order["metrics"] == [{"name": "fit:loss", "how": "framework", "reads": "", "label": ""}]


def test_a_framework_s_second_name_of_a_value_is_told_where_the_value_is_wrapped(folder, clock):
    twice = structs.replace(METRIC, capture=structs.replace(METRIC.capture, key="fit:acc"))
    metrics = [twice, structs.replace(twice, name="other", selected=False)]
    executor, events = make(folder, clock, works(clock), runs=1, metrics=metrics)
    list(events)
    order = json.loads(executor.launches[0].runtime_file.read_text())
    assert [metric.get("key") for metric in order["metrics"]] == ["fit:acc", None]


def test_as_is_alone_on_the_machine_touches_nothing(folder, clock):
    user = {"PATH": os.defpath, "X": "1"}
    executor, events = make(folder, clock, works(clock), environment=user, variants=["as-is"], runs=1)
    list(events)
    given = executor.launches[0]
    assert set(given.environment) - set(user) == {"DEVIATE_RUNTIME", "PYTHONPATH", "PWD"}
    assert given.slot.cores is None
    assert folder.runs()[0].read_info().threads is None


def test_runs_go_on_side_by_side_in_places_of_their_own(folder, clock):
    executor, events = make(folder, clock, works(clock), jobs=2, runs=6, options=ReplicateOptions(probe="nothing"))
    assert len(ended(events)) == 6
    assert executor.most_at_once == 2


def test_the_first_run_of_a_fresh_experiment_ends_before_others_start(folder, clock):
    _, events = make(folder, clock, works(clock), jobs=3, runs=4)
    order = [type(event) for event in events if isinstance(event, RunStarted | RunEnded)]
    assert order[:3] == [RunStarted, RunEnded, RunStarted]
    _, events = make(folder, clock, works(clock), jobs=3, runs=8)
    assert [type(event) for event in events if isinstance(event, RunStarted | RunEnded)][:3] == [RunStarted] * 3


@pytest.mark.parametrize(
    ("values", "alone"),
    [
        ({-1: [0, 1], 0: [0.5, 0.75]}, False),
        # Its first iteration is not over: what an iteration ends with may still fail.
        ({-1: [0], 0: [0.5]}, True),
        # Nothing says that it will record anything.
        ({-1: [0, 1]}, True),
    ],
)
def test_others_start_once_the_first_run_has_recorded_an_iteration(folder, clock, values, alone):
    options = ReplicateOptions(probe="iteration")
    _, events = make(folder, clock, works(clock, seconds=5, values=values), jobs=3, runs=3, options=options)
    order = [type(event) for event in events if isinstance(event, RunStarted | RunEnded)]
    assert order[:2] == ([RunStarted, RunEnded] if alone else [RunStarted, RunStarted])


def test_no_time_passes_between_a_run_and_the_next_while_others_go_on(folder, clock):
    lengths = iter([9.0, 1.0, 1.0])
    _, events = make(folder, clock, lambda launch: works(clock, next(lengths))(launch), jobs=2,
                     options=ReplicateOptions(probe="nothing"))  # fmt: skip
    times = [(type(event), clock.now) for event in events if isinstance(event, RunStarted | RunEnded)]
    assert [kind for kind, _ in times[:4]] == [RunStarted, RunStarted, RunEnded, RunStarted]
    assert times[3][1] == times[2][1]


def test_others_start_as_soon_as_the_first_run_has_recorded_an_iteration(folder, clock):
    script = works(clock, seconds=5, values={-1: [0, 1], 0: [0.5, 0.75]})
    _, events = make(folder, clock, script, jobs=2, runs=2, options=ReplicateOptions(probe="iteration"))
    first, second = (clock.now for event in events if isinstance(event, RunStarted))
    assert second - first <= LOOK_EVERY * 1.01


def test_progress_tells_iteration_and_latest_values(folder, clock):
    script = works(clock, seconds=2, values={-1: [0, 1, 2], 0: [0.5, 0.75]})
    _, events = make(folder, clock, script, runs=1)
    reports = [event for event in events if isinstance(event, RunProgress)]
    assert reports
    assert {(report.iteration, report.values["acc"]) for report in reports} == {(1, 0.75)}


def test_a_failed_run_is_kept_with_its_last_lines_and_not_made_again(folder, clock):
    def script(launch):
        write_training(launch)
        launch.stderr.write_text("Traceback\nValueError: bad\n")
        return ScriptedTraining(clock, seconds=1, status=1)

    outcome = ended(make(folder, clock, script, runs=1)[1])["control-0"]
    assert isinstance(outcome, Failed)
    assert (outcome.exit_code, outcome.stderr[-1]) == (1, "ValueError: bad")
    assert "status 1" in outcome.reason
    assert list(make(folder, clock, works(clock), runs=1)[1]) == []
    again = make(folder, clock, works(clock), runs=1, options=ReplicateOptions(retry_failed=True))[1]
    assert isinstance(ended(again)["control-0"], Completed)


def test_a_run_that_takes_too_long_timed_out(folder, clock):
    script = works(clock, seconds=100)
    outcome = ended(make(folder, clock, script, runs=1, options=ReplicateOptions(timeout=3))[1])["control-0"]
    assert isinstance(outcome, TimedOut)
    assert outcome.hint == "allow more than 3: --set timeout=NUMBER"


def test_a_command_whose_end_nothing_tells_is_a_failed_run(folder, clock):
    executor, events = make(folder, clock, works(clock), runs=1)
    next(events)
    executor._supervisor._watched.clear()  # What watched it is gone.
    outcome = ended(events)["control-0"]
    assert isinstance(outcome, Failed)
    assert "how it ended is unknown" in outcome.reason


def test_a_run_nothing_was_heard_from_is_not_measured(folder, clock):
    outcome = ended(make(folder, clock, lambda launch: ScriptedTraining(clock, seconds=1), runs=1)[1])["control-0"]
    assert isinstance(outcome, NotInstrumented)


def test_ctrl_c_cancels_what_runs_says_so_and_the_same_call_makes_it_again(folder, clock):
    events = make(folder, clock, works(clock, seconds=50), jobs=1)[1]
    seen = [next(events)]
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        seen += events
    assert [type(outcome) for outcome in ended(seen).values()] == [Cancelled]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert len(ended(make(folder, clock, works(clock))[1])) == 3


def test_a_caller_that_stops_listening_ends_what_runs(folder, clock):
    executor, events = make(folder, clock, works(clock, seconds=50))
    next(events)
    events.close()
    assert isinstance(folder.run(Run(variant="control", index=0)).read_outcome(), Cancelled)
    assert executor._trainings[0].poll() == -signal.SIGINT


def test_what_a_killed_tool_left_running_is_ended_and_made_again(folder, clock):
    executor, events = make(folder, clock, works(clock, seconds=50))
    next(events)
    run = folder.run(Run(variant="control", index=0))
    (run.path / "half").write_text("")
    # The first tool is gone without a word: nothing closes its iterator before the next one comes.
    executor, again = make(folder, clock, works(clock))
    outcomes = list(again)
    assert isinstance(outcomes[0], LeftoverEnded)
    assert executor.leftovers == [run.runtime_file]
    assert len(ended(outcomes)) == 3
    assert not (run.path / "half").exists()
    events.close()


def test_half_removed_folders_are_cleared(folder, clock):
    (folder.runs_folder / ".removed-control-0-0" / "work").mkdir(parents=True)
    list(make(folder, clock, works(clock), runs=1)[1])
    assert [path.name for path in folder.runs_folder.iterdir()] == ["control-0"]


def test_a_command_that_is_gone_is_a_message_before_anything_is_started(folder, clock):
    with pytest.raises(CommandNotFound):
        list(make(folder, clock, works(clock), command=["no-such-program"])[1])
    assert not folder.runs_folder.exists()


def test_a_command_the_system_refuses_is_a_failed_run(folder, clock):
    def script(launch):
        raise OSError(8, "Exec format error")

    outcome = ended(make(folder, clock, script, runs=1)[1])["control-0"]
    assert isinstance(outcome, Failed)
    assert "Exec format error" in outcome.reason


def test_a_full_disk_ends_what_runs_and_is_a_message(folder, clock, monkeypatch):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    options = ReplicateOptions(probe="nothing")
    executor, events = make(folder, clock, works(clock, seconds=50), jobs=2, options=options)
    next(events)
    monkeypatch.setattr("deviate.runs.prepare.make_copy", full)
    with pytest.raises(WorkspaceUnusable, match="No space left"):
        list(events)
    assert executor._trainings[0].poll() is not None


def test_work_folders_of_completed_runs_go_only_if_asked(folder, clock):
    list(make(folder, clock, works(clock), runs=1)[1])
    assert folder.runs()[0].work.is_dir()
    list(make(folder, clock, works(clock), runs=2, options=ReplicateOptions(keep_work=False))[1])
    assert not folder.runs()[1].work.exists()
    assert folder.runs()[1].record_files()


def test_runs_are_started_in_the_folder_the_user_stood_in(folder, clock):
    (folder.snapshot / "sub").mkdir()
    executor, events = make(folder, clock, works(clock), runs=1, folder="sub")
    (folder.project / "sub").mkdir()
    list(events)
    assert executor.launches[0].cwd == folder.runs()[0].work / "project" / "sub"


def test_what_an_executor_calls_a_command_is_stored_where_it_is_no_process_of_this_machine(folder, clock):
    executor, events = make(folder, clock, works(clock), runs=1)
    next(events)
    run = folder.run(Run(variant="control", index=0))
    assert "job" not in json.loads(run.info_file.read_text())
    run.write_info(structs.replace(run.read_info(), pid=None, created=None, job="cluster 7"))
    assert end_leftover(run, executor) == 0
    assert executor.handles == [Handle(run.runtime_file, "cluster 7")]
    events.close()
