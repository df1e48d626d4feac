"""A training is watched until it and what it started have ended."""

import signal

import pytest
from scripted import Clock, ScriptedTraining

from deviate.runs.executors.executor import Launch, Slot
from deviate.runs.executors.processes import HELPER_QUIET, TRAINING_QUIET, Memory, Silence
from deviate.runs.executors.supervise import FOLLOWERS_GRACE, FOLLOWERS_PATIENCE, Followers, Watch


@pytest.fixture
def clock():
    return Clock()


def run(clock, training, timeout=None, stop_at=None, again_at=None):
    """Look eight times a second (an exact fraction) until the training has ended."""
    begun = clock.now
    watch = Watch(training, begun, timeout)
    for _ in range(1000):
        since = clock.now - begun
        asked = sum(at is not None and since >= at for at in (stop_at, again_at))
        if (ended := watch.look(clock.now, asked)) is not None:
            return ended, [(at - begun, signal.Signals(number).name) for at, number in training.signals]
        clock.now += 0.125
    raise AssertionError("it never ended")


def test_a_training_that_ends_is_left_alone(clock):
    ended, signals = run(clock, ScriptedTraining(clock, seconds=2, status=3))
    assert (ended.status, ended.cause, ended.seconds) == (3, None, 2.0)
    assert signals == []


def test_one_that_takes_too_long_is_asked_and_then_killed(clock):
    ended, signals = run(clock, ScriptedTraining(clock), timeout=3)
    assert (ended.status, ended.cause) == (-9, "timeout")
    assert signals == [(3.0, "SIGTERM"), (13.0, "SIGKILL")]


def test_one_that_writes_nothing_is_ended_and_one_that_writes_is_not(clock, tmp_path):
    files = Launch(
        argv=[], environment={}, cwd=tmp_path, stdout=tmp_path / "out", stderr=tmp_path / "err", slot=Slot(index=0),
        runtime_file=tmp_path / "runtime.json", ended_file=tmp_path / "ended.json",
    )  # fmt: skip
    silence = Silence(files, 3.0, clock.now)
    for second in range(1, 9):
        clock.now += 1.0
        if second <= 4:
            (tmp_path / "records-1-1.bin").write_bytes(b"x" * 24 * second)
        elif second == 5:
            files.stderr.write_text("a warning")
        assert silence(clock.now) == ("stall" if second == 8 else None)


def test_memory_is_held_to_its_limit_and_its_excess_is_ended_at_once(clock):
    held = iter([5, 7, 9])
    training = ScriptedTraining(clock)
    watch = Watch(training, clock.now, None, [Memory(lambda: next(held), 8, clock.now)])
    while (ended := watch.look(clock.now)) is None:
        clock.now += 0.5
    assert (ended.status, ended.cause) == (-9, "memory")
    assert [number for _, number in training.signals] == [signal.SIGKILL]


def test_one_that_listens_is_not_killed(clock):
    ended, signals = run(clock, ScriptedTraining(clock, obeys=(signal.SIGTERM,)), timeout=3)
    assert (ended.status, ended.cause) == (-15, "timeout")
    assert signals == [(3.0, "SIGTERM")]


def test_ctrl_c_is_passed_on_first(clock):
    ended, signals = run(clock, ScriptedTraining(clock), stop_at=1)
    assert ended.cause == "cancel"
    assert signals == [(1.0, "SIGINT"), (6.0, "SIGTERM"), (11.0, "SIGKILL")]


def test_a_second_ctrl_c_kills_at_once(clock):
    ended, signals = run(clock, ScriptedTraining(clock), stop_at=1, again_at=2)
    assert ended.cause == "cancel"
    assert signals == [(1.0, "SIGINT"), (2.0, "SIGKILL")]


def test_a_process_that_not_even_sigkill_ends_does_not_hang_the_tool(clock):
    ended, _ = run(clock, ScriptedTraining(clock, obeys=()), timeout=1)
    assert ended.status is None


def follow(clock, follows, *, seconds=1.0, recorded=lambda now: 0, **options):
    """Return how a command ended that something outlives, and the signals sent to that."""
    training = ScriptedTraining(clock, seconds=seconds, followers_obey=(signal.SIGKILL,))
    begun, training.follows = clock.now, lambda now: follows(now - begun)
    watch = Watch(
        training, begun, options.pop("timeout", None), heard=lambda: (recorded(clock.now - begun), 0), **options
    )
    while (ended := watch.look(clock.now)) is None:
        clock.now += 0.125
        assert clock.now < begun + 1000
    return ended, [(at - begun, signal.Signals(number).name) for at, number in training.signals]


def trains(until, status=0):
    """Something that has recorded values, and works."""
    return lambda now: Followers(("python",) if now < until else (), recorded=True, cpu_seconds=now, status=status)


def test_what_trains_on_after_the_command_is_waited_for(clock):
    ended, signals = follow(clock, trains(until=300), recorded=lambda now: int(now) * 24)
    assert (ended.status, ended.cause, signals) == (0, None, [])
    assert ended.seconds == pytest.approx(300, abs=1)


def test_how_it_failed_is_how_the_training_ended(clock):
    assert follow(clock, trains(until=30, status=3))[0].status == 3
    assert follow(clock, trains(until=30, status=3), accepts=(0, 3))[0].status == 0


def test_limits_are_those_of_the_whole(clock):
    ended, signals = follow(clock, trains(until=300), timeout=20)
    assert (ended.cause, signals) == ("timeout", [(20.0, "SIGTERM"), (30.0, "SIGKILL")])
    assert ended.seconds >= 30


@pytest.mark.parametrize(("recorded", "quiet"), [(24, HELPER_QUIET), (0, TRAINING_QUIET)])
def test_a_helper_that_does_nothing_is_ended(clock, recorded, quiet):
    idle = Followers(("tensorboard",), cpu_seconds=0.1)
    ended, signals = follow(clock, lambda now: idle, recorded=lambda now: recorded)
    assert (ended.status, ended.seconds, ended.left, ended.left_training) == (0, 1.0, ["tensorboard"], False)
    (asked, _), (killed, _) = signals
    assert asked == pytest.approx(1 + quiet, abs=1)
    assert killed == pytest.approx(asked + FOLLOWERS_GRACE, abs=1)


def test_what_recorded_values_and_does_nothing_is_ended_later_and_said(clock):
    idle = Followers(("python",), recorded=True, reported=True)
    ended, signals = follow(clock, lambda now: idle, recorded=lambda now: 24)
    assert signals[0][0] == pytest.approx(1 + TRAINING_QUIET, abs=1)
    assert ended.left_training


def test_what_outlives_a_command_that_failed_is_ended_at_once(clock):
    training = ScriptedTraining(clock, seconds=1, status=2, followers_obey=(signal.SIGKILL,))
    ended, signals = run(clock, training)
    assert (ended.status, ended.seconds) == (2, 1.0)
    assert signals == [
        (1.0 + FOLLOWERS_PATIENCE, "SIGTERM"),
        (1.0 + FOLLOWERS_PATIENCE + FOLLOWERS_GRACE, "SIGKILL"),
    ]


def test_followers_that_listen_are_not_killed(clock):
    training = ScriptedTraining(clock, seconds=1, status=2, followers_obey=(signal.SIGTERM,))
    assert [name for _, name in run(clock, training)[1]] == ["SIGTERM"]
