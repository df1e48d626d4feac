"""Environments are compared without being kept."""

from __future__ import annotations

from deviate.observe.surroundings import DIGITS, differing, inherited, named_in


def test_what_a_session_sets_is_left_out_and_no_value_can_be_found_out():
    session = {"SSH_TTY": "1", "SHLVL": "2", "PWD": "/x", "TERM": "xterm", "OMP_NUM_THREADS": "1", "SLURM_JOB_ID": "7"}
    kept = inherited({"SCALE": "1", "API_TOKEN": "secret", **session})
    assert list(kept) == ["API_TOKEN", "SCALE"]
    assert all(len(digest) == DIGITS for digest in kept.values())


def test_variables_differ_by_value_and_by_being_there():
    one, other = inherited({"A": "1", "B": "1"}), inherited({"A": "2", "C": "1"})
    assert differing(one, other) == ["A", "B", "C"]
    assert differing(one, one) == []


def test_names_count_as_whole_words():
    assert named_in(['os.environ["SCALE"]', "SCALES"], ["SCALE", "CALE", "A.B"]) == ["SCALE"]
    assert named_in(["x"], []) == []
