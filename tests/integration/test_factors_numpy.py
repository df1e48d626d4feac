"""Every factor of a training in NumPy draws from a stream of its own, where the analysis has classified the draws."""

from __future__ import annotations

import pytest
from factor_runs import FACTORS, Zygote, Zygotes, check_matrix, matrix, other

pytestmark = pytest.mark.slow

#: The factors of the draws in the source, in their order.
DRAWS = [{"factor": factor} for factor in ("init", "shuffle", "augment", "layers", "data")]


@pytest.fixture(scope="module")
def numpys(zygotes: Zygotes) -> Zygote:
    return zygotes["numpy"]


@pytest.mark.parametrize("seeding", ["everything", "nothing", "own"])
def test_no_factor_leaks_into_another(numpys: Zygote, seeding: str) -> None:
    check_matrix(numpys.run("numpy_training.py", [seeding], matrix(), draws=DRAWS), set(FACTORS))


def test_observed_programs_draw_what_they_draw_alone(numpys: Zygote) -> None:
    for seeding in ("everything", "own"):
        (observed,) = numpys.run("numpy_training.py", [seeding], [None], draws=DRAWS)
        (untouched,) = numpys.run("numpy_training.py", [seeding], [None], control=None)
        assert observed.output == untouched.output
        assert set(observed.prints) == set(FACTORS)


def test_a_seed_that_makes_the_data_too_holds_them_fixed(torchs: Zygote) -> None:
    program = "torch_shared_seed.py"
    runs = torchs.run(program, [7], matrix(), draws=DRAWS)
    check_matrix(runs, set(FACTORS) - {"augment"})
    all_vary, all_vary_too = torchs.run(
        program, [7], [other(*FACTORS[:-1], again=again) for again in (1, 2)], draws=DRAWS
    )
    three = (runs[0], all_vary, all_vary_too)
    assert len({run.output.splitlines()[0] for run in three}) == 1
    assert len({run.sha for run in three}) == 3
