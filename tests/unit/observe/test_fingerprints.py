"""Fingerprints of runs: over all processes, compared as far as they can be."""

import pytest
from made import make_experiment, make_run, metric, read, write_process

from deviate.observe.events import warned_operations
from deviate.observe.fingerprints import (
    Fingerprint,
    Given,
    Seeding,
    agree,
    classes,
    is_constant,
    is_replaced,
    joined_fingerprints,
)
from deviate.observe.processes import processes
from deviate.observe.records import read_run

SEEDED_BY = {"generator": "torch", "call": "torch.manual_seed", "file": "train.py", "line": 12, "given": "42"}


def said(name, digest, moment="first", count=4, **more):
    return {"event": "fingerprint", "name": name, "digest": digest, "moment": moment, "count": count, **more}


def printed(tmp_path, *processes):
    """Return the fingerprints of a run whose processes wrote these events."""
    tmp_path.mkdir(exist_ok=True)
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0)
    for place, events in enumerate(processes):
        write_process(run, [], stem=f"{place}-1", events=events)
    return read_run(run).fingerprints


def fingerprint(digest="a", first="a", **changes):
    fields = {"count": 4, "processes": 1, "ended": 1, "length": 12, **changes}
    return Fingerprint(name="init", digest=digest, first=first, **fields)


def test_a_run_that_said_nothing_has_none(tmp_path):
    assert printed(tmp_path, []) == {}


def test_names_come_in_the_order_of_factors(tmp_path):
    found = printed(tmp_path, [said(name, "00000001") for name in ("weights", "layers", "init", "unheard")])
    assert list(found) == ["init", "layers", "weights", "unheard"]


def test_what_was_drawn_to_the_end_counts_over_the_first_draws(tmp_path):
    whole = printed(tmp_path / "a", [said("init", "00000001"), said("init", "00000002", "end", 9)])["init"]
    other = printed(tmp_path / "b", [said("init", "00000001"), said("init", "00000003", "end", 9)])["init"]
    assert (whole.count, whole.processes, whole.ended) == (9, 1, 1)
    assert whole.first == other.first
    assert whole.digest != other.digest


def test_of_a_run_that_was_ended_only_the_first_draws_count(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    run = make_run(folder, 0, [(0, 0, 0.0, 0.5)] * 7, events=[
        said("layers", "00000001"), said("layers", "00000002", "end", 30), said("other", "00000003", "end", 1),
    ])  # fmt: skip
    found = joined_fingerprints(processes(run), interrupted=True)
    whole = read_run(run).fingerprints
    assert (found["layers"].digest, found["layers"].ended) == (whole["layers"].first, 0)
    assert found["other"] == whole["other"]
    assert found["layers"].length == whole["layers"].length == 7


def test_the_order_of_processes_does_not_matter(tmp_path):
    one, two = [said("augment", "00000001")], [said("augment", "00000002")]
    assert printed(tmp_path / "a", one, two) == printed(tmp_path / "b", two, one)
    assert printed(tmp_path / "c", one, one)["augment"].digest != printed(tmp_path / "d", one, two)["augment"].digest


def test_sources_say_who_seeded_a_generator(tmp_path):
    numpy = {"generator": "numpy"}
    found = printed(tmp_path, [said("shuffle", "00000001", sources=[SEEDED_BY, numpy, "torn"])])["shuffle"]
    assert [(each.generator, each.call, each.file, each.line) for each in found.sources] == [
        ("numpy", "", "", 0),
        ("torch", "torch.manual_seed", "train.py", 12),
    ]


@pytest.mark.parametrize("broken", [{"name": 3}, {"digest": None}, {"moment": "later"}])
def test_events_of_another_shape_are_passed_over(tmp_path, broken):
    assert printed(tmp_path, [said("init", "00000001") | broken]) == {}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (fingerprint(), True),
        (fingerprint(digest="b"), False),
        # One went on for longer: their first draws tell.
        (fingerprint(digest="b", count=9), True),
        (fingerprint(digest="b", first="b", count=9), False),
        (fingerprint(digest="b", length=50), True),
        (fingerprint(digest="b", first="b", length=50), False),
        # One was killed: likewise.
        (fingerprint(digest="b", ended=0), True),
        (fingerprint(digest="b", processes=3), None),
        (None, None),
    ],
)
def test_agreement_is_told_as_far_as_it_can_be(other, expected):
    assert agree(fingerprint(), other) is expected


def seeding(count=3, digest="s", series=("p", "q"), seed="f", handed=None):
    return Seeding(seed=seed, count=count, digest=digest, series=list(series), handed=handed)


def handed(count, digest, *series):
    return Given(count=count, digest=digest, series=list(series))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # From the same seeds: how often was drawn followed from something else.
        ({"seeding": seeding()}, {"seeding": seeding()}, True),
        # One seeded once more, as it had an episode more.
        ({"seeding": seeding()}, {"seeding": seeding(4, "t", ("p", "q", "t"))}, True),
        ({"seeding": seeding()}, {"seeding": seeding(4, "t", ("p", "x", "t"))}, False),
        ({"seeding": seeding()}, {"seeding": seeding(digest="t")}, False),
        ({"seeding": seeding()}, {"seeding": seeding(seed="g")}, False),
        ({"seeding": seeding()}, {}, False),
        # Libraries were handed the same seeds, one more of them in one run.
        ({"seeding": seeding(handed=handed(1, "h", "h"))}, {"seeding": seeding(handed=handed(2, "i", "h", "i"))}, True),
        ({"seeding": seeding(handed=handed(1, "h", "h"))}, {"seeding": seeding(handed=handed(1, "x", "x"))}, False),
        ({"seeding": seeding(handed=handed(1, "h", "h"))}, {"seeding": seeding()}, True),
        # Each went on as far as it did: what both drew tells, not the first few draws only.
        ({"series": [["1", "2", "3"]]}, {"series": [["1", "2"]], "count": 3}, True),
        ({"series": [["1", "2", "3"]]}, {"series": [["1", "4"]], "count": 3}, False),
        ({"series": [["1", "2"], ["3", "4"]]}, {"series": [["3"], ["1", "2", "5"]], "count": 9}, True),
        # The tasks of a pool were shared out otherwise between its workers.
        (
            {"series": [["1", "2"], ["1", "2"]], "counts": [3, 2]},
            {"series": [["1", "2"], ["1", "2"]], "counts": [4, 2]},
            True,
        ),
        # Equally long, so every draw counts.
        ({"series": [["1", "2", "3"]]}, {"series": [["1", "2", "3"]]}, False),
    ],
)
def test_runs_are_compared_as_far_as_both_drew(one, other, expected):
    assert agree(fingerprint(**one), fingerprint("b", **other)) is expected


def test_the_digests_at_powers_of_two_are_read_of_each_process(tmp_path):
    found = printed(
        tmp_path,
        [
            said(
                "other", "00000001", series=["1", "2"], seeded={"seed": "f", "count": 1, "digest": "d", "series": ["d"]}
            )
        ],
        [said("init", "00000002", series=["3"])],
        [said("init", "00000003", series=["4", "5"])],
        [said("layers", "00000003", series="torn", seeded=[])],
    )
    assert found["other"].series == [["1", "2"]]
    assert found["other"].seeding == seeding(1, "d", ["d"])
    assert (found["init"].series, found["init"].seeding) == ([["3"], ["4", "5"]], None)
    assert (found["layers"].series, found["layers"].seeding) == ([], None)


def test_content_tells_whether_it_was_drawn(tmp_path):
    drawn = {"count": 3, "digest": "00000009"}
    found = printed(
        tmp_path,
        [said("init", "00000001", drawn=drawn), said("shuffle", "00000001", drawn={"count": 0, "digest": "00000000"})],
        [said("layers", "00000002")],
    )
    assert [found[name].is_undrawn for name in ("init", "shuffle", "layers")] == [False, True, False]
    assert found["layers"].drawn is None
    assert not is_constant([])
    assert is_constant([found["shuffle"]] * 2)
    assert not is_constant([found["init"]] * 2)
    assert not is_constant([fingerprint("a", drawn=""), fingerprint("b", drawn="")])
    assert is_replaced([fingerprint(drawn="1"), fingerprint(drawn="2")])
    assert not is_replaced([fingerprint(drawn="1"), fingerprint(drawn="1")])
    assert not is_replaced([fingerprint(), fingerprint()])


def test_runs_that_drew_the_same_are_put_together():
    found = [fingerprint("a"), fingerprint("b", first="b"), fingerprint("a"), fingerprint("c", processes=2)]
    assert classes(["r0", "r1", "r2", "r3"], found) == [["r0", "r2", "r3"], ["r1"]]


TORCH = (
    "train.py:3: UserWarning: scatter_add_cuda_kernel does not have a deterministic implementation, but you set "
    "'torch.use_deterministic_algorithms(True, warn_only=True)'. (Triggered internally at Context.cpp:91.)\n"
)
ATTENTION = "UserWarning: Memory Efficient attention defaults to a non-deterministic algorithm. To explicitly\n"


def test_operations_that_warned_are_listed_with_their_runs(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    runs = [make_run(folder, index) for index in range(3)]
    runs[0].stderr_file.write_text(f"epoch 1\n{TORCH}{TORCH}")
    runs[1].stderr_file.write_text(TORCH + ATTENTION)
    found = warned_operations(read(runs))
    assert [(each.operation, each.runs) for each in found] == [
        ("Memory Efficient attention", ["control-1"]),
        ("scatter_add_cuda_kernel", ["control-0", "control-1"]),
    ]


def test_what_content_was_made_with_is_told_by_the_first_draws(tmp_path):
    first, end = (said("shuffle", "1") | {"drawn": {"count": count, "digest": str(count)}} for count in (2, 3))
    ended = printed(tmp_path / "a", [first, end | {"moment": "end"}])["shuffle"]
    interrupted = printed(tmp_path / "b", [first])["shuffle"]
    assert ended.drawn == interrupted.drawn
    assert not is_replaced([ended, interrupted])


def test_what_starts_the_ranks_draws_nothing_for_the_training(tmp_path):
    def names(*processes):
        project = tmp_path / str(len(list(tmp_path.iterdir())))
        project.mkdir()
        run = make_run(make_experiment(project, [metric("acc")]), 0)
        for place, (time, rank, events) in enumerate(processes):
            write_process(run, [], stem=f"{place}-1", time=time, rank=rank, events=events)
        return list(read_run(run).fingerprints)

    launcher, helper = (1.0, None, [said("other", "l")]), (3.0, None, [said("other", "h")])
    trains = (2.0, 0, [said("init", "i")])
    assert names(launcher, trains) == ["init"]
    assert names(trains, helper) == ["init", "other"]
    assert names(launcher) == ["other"]
