"""What an audit may take for absent, and for pinned."""

from pathlib import Path

import pytest

from deviate.core.experiment import Draw, MainLoop
from deviate.probes.audit import changed_files, checked, proved
from deviate.probes.causes import Cause
from deviate.probes.verdicts import AuditedFactor, Compared, Probe

DRAW = Draw(
    file="train.py", line=3, function="make", call="numpy.random.randn", factor="data", why="makes data", span=None
)

LOOP = MainLoop(file="train.py", line=5, variable="epoch", kind="for", why="")


def probe(ended, iterations=0, reason=""):
    return Probe(name="as it is", ended=ended, seconds=1.0, iterations=iterations, fingerprints={}, reason=reason)


@pytest.mark.parametrize(
    ("probes", "draws", "has_loop", "verdict"),
    [
        ([probe("all seen"), probe("completed")], [DRAW], False, "unknown"),
        ([probe("limit"), probe("limit")], [DRAW], False, "unknown"),
        ([probe("limit"), probe("limit")], [], False, "absent"),
        ([probe("limit"), probe("limit")], [], True, "unknown"),
        ([probe("limit", iterations=1), probe("completed", iterations=3)], [], True, "unknown"),
        ([probe("limit", iterations=2)] * 2, [], True, "absent"),
        ([probe("all seen", iterations=3)] * 2, [DRAW], True, "absent"),
        ([probe("completed")] * 2, [DRAW], True, "absent"),
        ([probe("failed", reason="exit status 1"), probe("completed")], [], True, "unknown"),
    ],
)
def test_nothing_is_absent_that_a_probe_may_not_have_written(probes, draws, has_loop, verdict):
    absent = AuditedFactor(factor="data", verdict="absent", fingerprints=[None, None])
    assert checked(absent, probes, draws, LOOP if has_loop else None).verdict == verdict


@pytest.mark.parametrize(
    ("digests", "ends", "why"),
    [
        ([None, "a"], ("limit", "completed"), "a probe was ended by --limit before it came so far"),
        ([None, None], ("limit", "limit"), "a probe was ended by --limit before it came so far"),
        (["a", None], ("completed", "all seen"), "a probe was ended before it came so far"),
        (["a", None], ("completed", "failed"), "a probe failed"),
        (["a", None], ("limit", "completed"), "only one of two probes used it"),
    ],
)
def test_a_probe_that_did_not_come_to_its_end_is_no_evidence(digests, ends, why):
    factor = AuditedFactor(factor="init", verdict="unknown", why="only one of two probes used it", fingerprints=digests)
    assert checked(factor, [probe(end) for end in ends], [], LOOP).why == why


DRAWN_ALIKE = AuditedFactor(factor="init", verdict="pinned", fingerprints=["a", "a"])
EQUAL, APART, NOTHING = Compared(equal=True), Compared(equal=False), Compared(why="no metric was recorded")


@pytest.mark.parametrize(
    ("compared", "causes", "beside", "verdict"),
    [
        (EQUAL, [], "absent", "pinned"),
        (NOTHING, [], "absent", "unknown"),
        (APART, [], "absent", "unknown"),
        (APART, [Cause(kind="unknown")], "absent", "unknown"),
        (APART, [Cause(kind="hash")], "absent", "pinned"),
        (APART, [], "varies", "pinned"),
    ],
)
def test_pinned_is_said_where_values_are_equal_or_differ_by_what_is_known(compared, causes, beside, verdict):
    other = AuditedFactor(factor="other", verdict=beside, fingerprints=["a", "b"])
    found = proved(DRAWN_ALIKE, [DRAWN_ALIKE, other], compared, causes)
    assert (found.verdict, bool(found.why)) == (verdict, verdict == "unknown")


def test_kernels_of_a_gpu_may_be_why_values_differ():
    assert proved(DRAWN_ALIKE, [DRAWN_ALIKE], APART, [Cause(kind="unknown")], gpu=True).verdict == "pinned"


def test_what_a_program_changed_in_its_copy_is_its_own(tmp_path):
    copy, snapshot = tmp_path / "copy", tmp_path / "snapshot"
    for folder in (copy, snapshot):
        (folder / "sub").mkdir(parents=True)
        for name in ("same.txt", "sub/study.db"):
            (folder / name).write_bytes(b"1")
    (copy / "sub" / "study.db").write_bytes(b"12")
    (copy / "new.txt").write_text("")
    (snapshot / "gone.txt").write_text("")
    assert changed_files(copy, snapshot) == [str(Path("sub") / "study.db")]
    assert changed_files(None, snapshot) == []
