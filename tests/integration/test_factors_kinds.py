"""Every factor draws from a stream of its own in trainings of further kinds: in threads, with boosted trees."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from factor_runs import FACTORS, FULL, Zygote, check_matrix, matrix, zygote
from installed import require

pytestmark = pytest.mark.slow
TIMES = 2 if FULL else 1


@pytest.fixture(scope="module")
def torchs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    require("torch")
    with zygote(tmp_path_factory.mktemp("kinds"), "torch._dynamo", "numpy") as started:
        yield started


@pytest.mark.parametrize("threads", ["one", "pool"])
@pytest.mark.parametrize("seeding", ["everything", "nothing"])
def test_draws_in_threads_are_the_same_in_whatever_order_threads_run(
    torchs: Zygote, seeding: str, threads: str
) -> None:
    draws = [{"factor": factor} for factor in ("", "shuffle", "augment", "data")]
    runs = torchs.run("thread_training.py", [seeding, threads], matrix(times=TIMES), draws=draws)
    check_matrix(runs, set(FACTORS), times=TIMES)
    assert not runs[0].of("note"), runs[0].of("note")
