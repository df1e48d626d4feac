"""What an audit may take for absent."""

import pytest

from deviate.experiment import Draw
from deviate.preflight.probes import checked
from deviate.preflight.verdicts import AuditedFactor, Probe

DRAW = Draw(
    file="train.py", line=3, function="make", call="numpy.random.randn", factor="data", why="makes data", span=None
)


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
    assert checked(absent, probes, draws, has_loop=has_loop).verdict == verdict
