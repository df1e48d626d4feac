"""What comes again within a run is told by its events: seeds set again, orders of loaders, draws of processes."""

import pytest

from deviate.observe.processes import Process
from deviate.observe.repetitions import RepeatedOrder, RepeatedSeed, Repetitions, repeated_draws, repetitions
from deviate.report.topics.explanation import repetition_caveats

SOURCE = {"generator": "numpy", "call": "numpy.random.seed", "file": "train.py", "line": 3, "given": "0"}
START = {"event": "start", "pid": 1, "ppid": 0, "argv": ["python", "train.py"]}
LOOP = {"event": "loop", "number": 1, "item": 0}


class Ran:
    def __init__(self, *events):
        self.processes = [Process("1-1", [START, *events], None)]


def seed(line=8, iterations=(3, 6), entries=(1, 1), **more):
    place = {"call": "torch.manual_seed", "file": "train.py", "line": line, "given": "99", "library": False}
    return {"event": "again", "kind": "seed", **place, "iterations": list(iterations), "entries": list(entries), **more}


def order(passes, sampler="RandomSampler"):
    return {"event": "again", "kind": "order", "call": sampler, "file": "train.py", "line": 20, "passes": passes}


def process(pid, ppid, digest=None, *more, argv=("python", "train.py"), name="augment", source=None):
    events = [{**START, "pid": pid, "ppid": ppid, "argv": list(argv)}, *more]
    if digest:
        event = {"event": "fingerprint", "name": name, "moment": "first", "digest": digest, "count": 4}
        events.append({**event, "sources": [source or {"generator": "numpy.Generator"}]})
    return Process(f"{pid}-1", events, None)


def said(again):
    return [(each.severity, each.message) for each in repetition_caveats(again, "iteration")]


def test_seeds_that_repeat_the_same_iterations_are_said_together_and_explain_the_order_of_loaders():
    again = repetitions([Ran(seed(), seed(9), order(2)), Ran(seed(), seed(9))])
    (found,) = again.seeds
    assert ([each.line for each in found.seeds], found.iterations, again.orders) == ([8, 9], [3, 6], [])
    assert said(again) == [
        (
            "warning",
            "torch.manual_seed(99) at train.py:8 and torch.manual_seed(99) at train.py:9 set the same seeds again "
            "during the training: its 4th and 7th iteration draw the same numbers.",
        )
    ]


def test_what_each_training_of_a_run_draws_may_be_the_same_on_purpose():
    again = repetitions([Ran(seed(iterations=(0, 5), entries=(1, 2)), order(2, "DistributedSampler"), order(4))])
    assert [type(each) for each in (*again.seeds, *again.orders)] == [RepeatedSeed, RepeatedOrder]
    (kind, text), (_, loader) = said(again)
    assert (kind, text.partition(" sets ")[2]) == (
        "note",
        "the same seed before each training: the 1st and the 2nd draw the same numbers.",
    )
    assert "train.py:20 goes through gave its examples in the same order in 4 passes" in loader


def test_that_later_iterations_repeat_says_more_than_that_those_do_which_seed():
    (found,) = repetitions([Ran(seed(iterations=(2, 5), within=True), seed(within=False))]).seeds
    assert found.iterations == [3, 6]


@pytest.mark.parametrize("function", ["validate", "eval_epoch", "run_test"])
def test_a_seed_that_only_an_evaluation_draws_by_is_not_said(function):
    assert repetitions([Ran(seed(functions=[function, "main"]))]) == Repetitions()
    assert repetitions([Ran(seed(functions=["train_epoch", "main"]))]).seeds


def test_workers_that_draw_the_same_are_counted():
    groups = repeated_draws([process(1, 0), process(2, 1, "aa"), process(3, 1, "aa"), process(4, 1, "bb")])
    assert [(each.processes, each.sources[0].generator) for each in groups] == [(2, "numpy.Generator")]
    # Processes of nobody, commands of their own, ranks.
    assert repeated_draws([process(1, 0, "aa"), process(2, 0, "aa")]) == []
    commands = [process(number, 1, "aa", argv=("python", "-m", "step")) for number in (2, 3)]
    assert repeated_draws([process(1, 0), *commands]) == []
    ranks = [process(number, 1, "aa", {"event": "rank", "rank": number}) for number in (2, 3)]
    assert repeated_draws([process(1, 0), *ranks]) == []


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "worker processes draw the same numbers: a generator seeded at train.py:3 is copied into each"),
        (
            [{"event": "seed", "file": "train.py", "line": 3}],
            "numpy.random.seed(0) at train.py:3 gives each of them the",
        ),
        (
            [LOOP],
            "2 trainings in processes of their own draw the same numbers: numpy.random.seed(0) at train.py:3",
        ),
    ],
)
def test_what_makes_processes_draw_the_same_is_named(events, words):
    members = [process(number, 1, "aa", *events, name="other", source=SOURCE) for number in (2, 3)]
    ((_, text),) = said(Repetitions(workers=repeated_draws([process(1, 0), *members])))
    assert words in text
