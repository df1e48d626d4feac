"""Every factor of a PyTorch training draws from a stream of its own, whatever seeds it and however data are loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from factor_runs import FACTORS, FULL, PROGRAMS, SEEDS, Zygote, check_matrix, matrix, other, run_command
from installed import require

pytestmark = pytest.mark.slow
require("torch")


TRAINING = "torch_training.py"
EVERY = set(FACTORS)


#: Ways of seeding and of loading: all pairs in the nightly tests, otherwise one way of loading for each of seeding.
CELLS = [
    (seeding, workers)
    for seeding, one in (("everything", 0), ("nothing", 2), ("own", 0))
    for workers in ((0, 2) if FULL else (one,))
]


@pytest.mark.parametrize(("seeding", "workers"), CELLS)
def test_no_factor_leaks_into_another(torchs: Zygote, seeding: str, workers: int) -> None:
    runs = torchs.run(TRAINING, [seeding, workers, 16], matrix())
    check_matrix(runs, EVERY)


def test_a_process_of_its_own_draws_the_same(torchs: Zygote, tmp_path: Path) -> None:
    (forked,) = torchs.run(TRAINING, ["everything", 0, 16], [SEEDS])
    own = run_command(tmp_path / "own", [PROGRAMS / TRAINING, "everything", 0, 16], SEEDS)
    assert own.output == forked.output
    # Libraries that are imported meanwhile draw as well.
    assert own.differs_from(forked) <= {"other"}
    assert not own.of("note")


def test_the_width_of_a_layer_does_not_change_the_order_of_the_data(torchs: Zygote) -> None:
    narrow, wide = (torchs.run(TRAINING, ["everything", 0, width], [SEEDS])[0] for width in (16, 17))
    assert narrow.prints["init"] != wide.prints["init"]
    for name in ("shuffle", "augment", "data", "other", "batches"):
        assert narrow.prints[name] == wide.prints[name]


def test_workers_or_none_the_order_is_the_same(torchs: Zygote) -> None:
    without, with_workers = (torchs.run(TRAINING, ["nothing", workers, 16], [SEEDS])[0] for workers in (0, 2))
    for name in ("init", "shuffle", "layers", "data", "other"):
        assert without.prints[name] == with_workers.prints[name]


def test_workers_that_stay(torchs: Zygote) -> None:
    check_matrix(torchs.run(TRAINING, ["nothing", "persistent", 16], matrix()), EVERY)


@pytest.mark.nightly
def test_workers_that_are_spawned(torchs: Zygote) -> None:
    seeds = [SEEDS, SEEDS, *(map(other, FACTORS) if FULL else [other("shuffle", "augment")])]
    control, again, *changed = torchs.run(TRAINING, ["nothing", "spawned", 16], seeds)
    assert control.sha, control.output
    assert (again.sha, again.prints) == (control.sha, control.prints)
    differences = [run.differs_from(control) for run in changed]
    assert differences == ([{factor} for factor in FACTORS] if FULL else [{"shuffle", "augment"}])


def test_seeds_of_the_program_are_said_with_the_generators_they_seeded(torchs: Zygote) -> None:
    (run,) = torchs.run(TRAINING, ["everything", 0, 16], [SEEDS])
    calls = {event["call"] for event in run.of("seed")}
    assert calls == {"random.seed", "numpy.random.seed", "torch.manual_seed", "torch.cuda.manual_seed_all"}
    assert {event["file"] for event in run.of("seed")} == {TRAINING}
    sources = {(source["generator"], source.get("call"), source.get("given")) for source in run.sources("augment")}
    assert {("random", "random.seed", "0"), ("numpy", "numpy.random.seed", "0")} < sources


def test_the_author_s_own_split_is_the_one_that_is_held_fixed(torchs: Zygote) -> None:
    """With a generator of its own, a split is what it is without Deviate."""
    held, again, varied = torchs.run(TRAINING, ["own", 0, 16], [SEEDS, other(*FACTORS[:-1]), other("data")])
    (untouched,) = torchs.run(TRAINING, ["own", 0, 16], [None], control=None)
    split = [run.output.splitlines()[0] for run in (untouched, held, again, varied)]
    assert split[0] == split[1] == split[2] != split[3]


def test_observed_programs_draw_what_they_draw_alone(torchs: Zygote) -> None:
    for workers in (0, 2):
        observed, again = torchs.run(TRAINING, ["everything", workers, 16], [None, None])
        (untouched,) = torchs.run(TRAINING, ["everything", workers, 16], [None], control=None)
        assert observed.output == untouched.output
        assert observed.prints == again.prints
        assert set(observed.prints) >= EVERY
    free, again = torchs.run(TRAINING, ["nothing", 0, 16], [None, None])
    assert free.differs_from(again) == EVERY


def test_one_bit(torchs: Zygote) -> None:
    (control,) = torchs.run(TRAINING, ["everything", 0, 16], [SEEDS])
    (one,) = torchs.run(TRAINING, ["everything", 0, 16], [SEEDS], bit=1)
    (two,) = torchs.run(TRAINING, ["everything", 0, 16], [SEEDS], bit=2)
    for flipped in (one, two):
        assert flipped.differs_from(control) == set()
        assert flipped.sha != control.sha
        (event,) = flipped.of("bit")
        assert 0 < abs(event["after"] / event["before"] - 1) < 2**-22
    assert one.sha != two.sha


def test_what_is_computed_again_draws_what_was_drawn_before(torchs: Zygote) -> None:
    runs = [torchs.run("torch_states.py", [way], [SEEDS])[0] for way in ("plain", "reentrant", "not reentrant")]
    assert len({run.output for run in runs}) == 1, [run.output for run in runs]
    assert runs[0].sha, runs[0].output
    assert [event["message"] for run in runs for event in run.of("note")] == []


def test_compiled_models_train_to_the_same_weights(torchs: Zygote) -> None:
    runs = [torchs.run("torch_compiled.py", [way], [SEEDS])[0] for way in ("eager", "module", "function")]
    assert len({run.sha for run in runs}) == 1, [run.output for run in runs]
    assert runs[0].sha, runs[0].output


def test_operations_without_a_deterministic_form_are_told_and_with_strict_raise(torchs: Zygote) -> None:
    (lenient,) = torchs.run("torch_warned.py", [], [SEEDS])
    (strict,) = torchs.run("torch_warned.py", [], [SEEDS], strict=True)
    assert lenient.sha, lenient.output
    assert [event["operation"] for event in lenient.of("nondeterministic")] == ["max_unpooling2d_forward_out"]
    assert strict.output == "raised max_unpooling2d_forward_out\n"
