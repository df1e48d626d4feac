"""Which cause is named, given what probes show in which it is held still or turned round."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from deviate.observe.identity import Series
from deviate.probes.causes import AGREEING, HASH_SEEDS, Outcome, Search, differ, value_difference
from deviate.source.lint import Suspect


def outcome(*values, ended=True, usable=True, left=()):
    bits = np.array(values, float)
    series = {"loss": Series(np.arange(len(bits), dtype=np.int32), bits, np.arange(len(bits)))} if values else {}
    return Outcome("probe", {}, series, ended=ended, usable=usable, left=tuple(left))


def suspect(kind, line=3):
    return Suspect(file="train.py", line=line, kind=kind, text="f()")


class Program:
    """A program whose values depend on hidden causes; each attempt meets others, unless they are held still."""

    def __init__(self, *causes, fails=()):
        self.causes = causes
        self.fails = set(fails)
        self.attempts = []
        self.numbers = itertools.count(1)

    def __call__(self, controlled, conditions):
        self.attempts.append(conditions)
        fixed = {*conditions.fixed, *(["hash"] if controlled or conditions.hash_seed else [])}
        free = [cause for cause in self.causes if cause not in fixed]
        turned = [name for name in conditions.fixed if name.partition("-")[0] in self.causes and "-" in name]
        seed = [conditions.hash_seed] if "hash" in self.causes and conditions.hash_seed > "0" else []
        after = ["after"] if "leftovers" in self.causes and conditions.after else []
        unchanged = not (turned or seed or after)
        value = next(self.numbers) if set(free) - {"files", "memory", "leftovers"} else 0.0 if unchanged else 0.5
        return outcome(value, usable=not self.fails & fixed)


PAIR = [outcome(1), outcome(2)]


@pytest.mark.parametrize("kind", ["hash", "threads", "clock", "entropy"])
def test_the_cause_is_what_makes_probes_equal_when_it_is_held_still(kind):
    search = Search(Program(kind), [suspect(kind), suspect("leftovers", 9)])
    (cause,) = search.explain(PAIR, controlled=False, held=False)
    assert (cause.kind, [line.line for line in cause.lines], cause.tried) == (kind, [3], True)
    assert (cause.difference.metric, cause.difference.other_value, cause.difference.value) == ("loss", 1.0, 2.0)


def test_two_causes_are_both_named():
    causes = Search(Program("hash", "clock"), []).explain(PAIR, controlled=False, held=False)
    assert {cause.kind for cause in causes} == {"hash", "clock"}


def test_what_nothing_helps_against_is_unknown_after_two_probes():
    program = Program("a server")
    (cause,) = Search(program, [suspect("clock")]).explain(PAIR, controlled=False, held=False)
    assert (cause.kind, cause.lines, len(program.attempts)) == ("unknown", [], 2)


def test_what_the_source_shows_is_tried_first():
    program = Program("entropy")
    Search(program, [suspect("entropy")]).explain(PAIR, controlled=False, held=False)
    assert [set(each.fixed) for each in program.attempts[2:]] == [{"entropy"}] * AGREEING


def test_a_probe_that_fails_as_something_is_held_still_names_nothing_and_that_is_said():
    program = Program("clock", fails=["clock"])
    (cause,) = Search(program, []).explain(PAIR, controlled=False, held=False)
    assert (cause.kind, cause.failed) == ("unknown", ["clock"])


def test_where_all_at_once_fails_each_is_tried_alone():
    (cause,) = Search(Program("hash", fails=["clock"]), []).explain(PAIR, controlled=False, held=False)
    assert (cause.kind, cause.failed) == ("hash", [])


def test_a_probe_that_is_ended_before_values_can_differ_shows_nothing():
    pair = [outcome(1, 2, 3, ended=False), outcome(1, 2, 4, ended=False)]
    (cause,) = Search(lambda *_: outcome(1, 2, ended=False), []).explain(pair, controlled=True, held=False)
    assert (cause.kind, cause.failed) == ("unknown", ["threads", "clock", "entropy", "memory", "files"])


def test_under_control_the_hash_seed_is_held_anyhow():
    program = Program("threads")
    (cause,) = Search(program, [suspect("hash")]).explain(PAIR, controlled=True, held=False)
    assert cause.kind == "threads"
    assert not any("hash" in each.fixed for each in program.attempts)


@pytest.mark.parametrize(("kind", "here"), [("hash", True), ("files", False), ("memory", False), ("leftovers", False)])
def test_what_would_differ_elsewhere_is_turned_round(kind, here):
    control = outcome(0, left=["weight.npy"])
    (cause,) = Search(Program(kind), [suspect(kind)]).elsewhere(control, [], hash_seed_given=False)
    assert (cause.kind, cause.here, cause.held) == (kind, here, True)
    assert cause.files == (["weight.npy"] if kind == "leftovers" else [])


def test_in_a_used_folder_a_probe_draws_otherwise_than_the_one_that_left_it():
    """A best value that was left counts only for a run that is worse."""

    def best(controlled, conditions):
        value = 0.6 if conditions.varied else 0.8
        return outcome(max(value, 0.8 if conditions.after else 0.0))

    search = Search(best, [suspect("leftovers")])
    (cause,) = search.elsewhere(outcome(0.8, left=["best.txt"]), [], hash_seed_given=False)
    assert (cause.kind, cause.files, cause.difference.other_value, cause.difference.value) == (
        "leftovers", ["best.txt"], 0.6, 0.8,
    )  # fmt: skip


@pytest.mark.parametrize(("value", "files"), [(0.98, [["best.txt"]]), (0.8, [])])
def test_a_file_that_the_program_writes_itself_is_taken_away_once(value, files):
    """What an earlier training left in the project enters each run."""
    search = Search(lambda controlled, conditions: outcome(0.8 if conditions.without else value), [])
    causes = search.elsewhere(outcome(value), [], hash_seed_given=False, own=["best.txt"])
    assert [cause.files for cause in causes] == files


def test_what_the_source_shows_is_turned_round_together_first():
    program = Program("files")
    suspects = [suspect(kind) for kind in ("hash", "files", "memory")]
    (cause,) = Search(program, suspects).elsewhere(outcome(0), [], hash_seed_given=False)
    assert cause.kind == "files"
    assert (program.attempts[0].hash_seed, program.attempts[0].fixed) == ("1", {"files-reversed", "memory-filled"})
    clean = Program()
    assert Search(clean, suspects).elsewhere(outcome(0), [], hash_seed_given=False) == []
    assert len(clean.attempts) == len(HASH_SEEDS)


def test_what_the_source_does_not_show_or_is_known_is_not_turned_round():
    program = Program("hash")
    assert Search(program, []).elsewhere(outcome(0), [], hash_seed_given=False) == []
    assert Search(program, [suspect("hash")]).elsewhere(outcome(0), ["hash"], hash_seed_given=False) == []
    assert program.attempts == []


def test_an_order_without_effect_is_no_cause():
    program = Program()
    assert Search(program, [suspect("hash")]).elsewhere(outcome(0), [], hash_seed_given=False) == []
    assert [each.hash_seed for each in program.attempts] == list(HASH_SEEDS)


def test_probes_are_compared_as_far_as_both_went_unless_both_ended():
    assert not differ(outcome(1, 2, ended=False), outcome(1, 2, 3))
    assert differ(outcome(1, 2), outcome(1, 2, 3))
    assert differ(outcome(1, 2, ended=False), outcome(1, 4, 3))
    assert not differ(outcome(1), outcome(2, usable=False))
    assert value_difference(outcome(1, 2), outcome(1, 2)) is None


@pytest.mark.parametrize("ended", [True, False])
def test_of_text_alone_the_values_of_probes_are_compared_that_came_to_their_end(ended):
    one, other = outcome(0.9), outcome(0.9, ended=ended)
    best = one.series["loss"]
    one, other = replace(one, printed={"best": best, "acc": best}), replace(other, printed={"best": best})
    assert set(one.beside(other)) == ({"loss", "best"} if ended else {"loss"})
    assert set(other.beside(one)) == set(one.beside(other))
