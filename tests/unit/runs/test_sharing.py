"""Which runs share one training, and which are not needed."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deviate.core.experiment import Run
from deviate.core.factors import GROUPS, VARIANTS, find_variant, run_seeds
from deviate.runs.resume import Seen, Sharing

#: No draw but for initial weights and for what no rule tells.
LITTLE = Seen(absent=frozenset({"shuffle", "augment", "layers", "data"}), without_noise=True)


def sharing(planned, known=LITTLE, **options):
    return Sharing(None, planned, known=known, **options)


def twins(shared):
    return {
        (name, index): shared.twin(Run(variant=name, index=index))
        for name, runs in shared.planned.items()
        for index in range(runs)
    }


def trained(found):
    return [key for key, twin in found.items() if twin is not None and key == (twin.variant, twin.index)]


def test_one_source_at_a_time_is_trained_where_its_draws_are_its_own():
    found = twins(sharing(dict.fromkeys(GROUPS["sources"], 4), repeats=False))
    assert len(found) == 32
    assert len(trained(found)) == 18
    assert found["init", 0] == Run(variant="control", index=0)
    assert found["shuffle", 3] == Run(variant="control", index=3)
    assert found["init", 3] == Run(variant="init", index=3)
    # Its seed orders sets of strings, whatever is drawn.
    assert found["other", 3] == Run(variant="other", index=3)


@pytest.mark.parametrize(
    ("planned", "waits"),
    [
        (["algo+impl"], False),
        (["algo+impl", "impl"], False),
        (["impl", "control"], True),
        (["algo+impl", "algo"], True),
        (["init"], True),
    ],
)
def test_others_wait_for_the_first_run_where_it_may_show_that_some_are_not_needed(planned, waits):
    assert sharing(dict.fromkeys(planned, 3), known=None).waits is waits


@dataclass
class Made:
    """A folder of runs of which some are done."""

    done: set[Run]

    def run(self, run):
        return SimpleNamespace(is_done=run in self.done)


def test_the_implementation_is_trained_for_itself_until_first_runs_show_that_it_cannot_vary():
    planned = dict.fromkeys(GROUPS["arms"], 3)
    made = Made(set())
    waiting = Sharing(made, planned, known=LITTLE)
    free, held = Run(variant="algo+impl", index=0), Run(variant="control", index=0)
    assert [waiting.twin(run) for run in (free, held)] == [free, held]
    assert waiting.twin(Run(variant="impl", index=2)) == free
    made.done.add(free)
    assert waiting.twin(Run(variant="algo", index=2)) == held
    found = twins(sharing(planned, repeats=True))
    assert found["impl", 2] == Run(variant="control", index=2)
    assert found["algo", 2] == Run(variant="algo+impl", index=2)
    assert len(trained(found)) == 6
    assert len(trained(twins(sharing(planned, repeats=False)))) == 11


def test_the_implementation_is_trained_where_something_of_it_could_vary():
    noisy = Seen(absent=LITTLE.absent, without_noise=False)
    assert len(trained(twins(sharing(dict.fromkeys(GROUPS["arms"], 3), known=noisy)))) == 11


def test_without_control_runs_that_vary_the_implementation_alone_are_trained():
    planned = {"algo+impl": 3, "algo": 3, "impl": 3}
    found = twins(sharing(planned, repeats=True))
    assert [found["impl", index] for index in (1, 2)] == [Run(variant="impl", index=index) for index in (1, 2)]
    assert trained(found) == [
        ("algo+impl", 0),
        ("algo+impl", 1),
        ("algo+impl", 2),
        ("algo", 0),
        ("impl", 1),
        ("impl", 2),
    ]


def test_sources_need_no_training_for_the_implementation_where_it_cannot_vary():
    found = twins(sharing(dict.fromkeys(GROUPS["sources"], 4), repeats=True))
    assert len(trained(found)) == 14
    assert found["impl", 0] == Run(variant="control", index=0)


def test_runs_that_prove_nothing_are_not_needed_and_control_always_is():
    found = twins(sharing({"augment": 3, "layers": 3}))
    assert trained(found) == [("augment", 0)]
    assert found["layers", 0] == Run(variant="augment", index=0)
    alone = twins(sharing({"augment": 3}))
    assert [alone["augment", index] for index in (1, 2)] == [None, None]
    assert len(trained(twins(sharing({"control": 3})))) == 3


def test_as_it_is_and_disturbed_runs_stand_alone():
    found = twins(sharing({"as-is": 2, "platform": 2, "bit": 2, "control": 2}))
    assert len(trained(found)) == 8


@given(
    st.dictionaries(st.sampled_from(sorted(VARIANTS)), st.integers(1, 4), min_size=1),
    st.frozensets(st.sampled_from(["init", "shuffle", "augment", "layers", "data"])),
)
def test_a_twin_draws_the_same_from_every_factor_that_is_drawn_for(planned, absent):
    shared = sharing(planned, known=Seen(absent=absent, without_noise=False))
    for (name, index), twin in twins(shared).items():
        # Nothing waits for a run that waits itself.
        assert twin is None or shared.twin(twin) == twin
        other = twin or Run(variant=name, index=0)
        own = run_seeds(find_variant(name), 7, index) or {}
        theirs = run_seeds(find_variant(other.variant), 7, other.index) or {}
        assert {key: own[key] for key in own.keys() - absent} == {key: theirs[key] for key in theirs.keys() - absent}
        if twin is not None and twin.variant != name:
            assert "impl" not in find_variant(name).varying | find_variant(twin.variant).varying
            assert twin.index == index
