"""Which switches are named for a program that does not repeat, and what is said of them and of their price."""

from types import SimpleNamespace

import pytest

from deviate.probes import fix
from deviate.probes.certificate import Parting
from deviate.probes.fix import SWITCHES, Fixed, Mended, applicable
from deviate.probes.price import Priced, costliest, read_times
from deviate.probes.training import Failure
from deviate.report.topics.certificate import fixed_sentences, priced_sentences
from deviate.report.views import page_view
from deviate.stats.effects import paired_price

COMMAND = ["python", "train.py"]
HASH, *_, THREADS = SWITCHES


class Run:
    """A training that ended with a value."""

    def __init__(self, value, failure=None):
        self.value = value
        self.failure = failure
        self.files = None

    def parts_from(self, other):
        return None, [] if self.value == other.value else ["weights"]


def fixed(monkeypatch, mends, switches=(HASH, THREADS), fails=()):
    """Look for a fix of a program that repeats where `mends` says so of the switches that are typed."""
    monkeypatch.setattr(fix, "applicable", lambda run: switches)
    monkeypatch.setattr(fix, "prices", lambda *sides: [])
    looking = fix._Fixing(SimpleNamespace(), lambda text: None)

    def train(chosen=(), variant=""):
        looking.made += 1
        typed = {switch.typed for switch in chosen}
        ended = Failure(run="r", reason="it ended with status 1") if typed & set(fails) else None
        return Run("same" if variant == "control" or mends(typed) else looking.made, ended)

    looking._train = train
    return looking.look(Fixed(command=COMMAND))


def test_a_single_switch_is_named_where_one_is_enough(monkeypatch):
    found = fixed(monkeypatch, lambda typed: HASH.typed in typed)
    assert [each.switches for each in found.mended] == [[HASH.typed]]
    assert (found.status, found.tried) == (0, [HASH.typed, THREADS.typed])


def test_no_switch_is_named_that_is_not_needed(monkeypatch):
    needed = {SWITCHES[0].typed, SWITCHES[4].typed}
    found = fixed(monkeypatch, lambda typed: needed <= typed, (HASH, SWITCHES[4], THREADS))
    assert [set(each.switches) for each in found.mended] == [needed]


def test_where_no_switch_helps_it_is_said_whether_draws_are_the_cause(monkeypatch):
    found = fixed(monkeypatch, lambda typed: False)
    assert (found.mended, found.held, found.status) == ([], True, 1)


def test_a_switch_under_which_the_program_fails_mends_nothing(monkeypatch):
    assert fixed(monkeypatch, lambda typed: THREADS.typed in typed, fails=[THREADS.typed]).mended == []
    assert fixed(monkeypatch, lambda typed: True).repeats


@pytest.mark.parametrize(
    ("known", "processes", "gpu", "names"),
    [
        ({}, 1, False, ["PYTHONHASHSEED", "OMP_NUM_THREADS"]),
        ({"libraries.torch": "2"}, 1, False, ["PYTHONHASHSEED", "torch.", "OMP_NUM_THREADS"]),
        ({"libraries.torch": "2"}, 3, False, ["PYTHONHASHSEED", "DataLoader", "torch.", "OMP_NUM_THREADS"]),
        ({}, 1, True, ["PYTHONHASHSEED", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32", "OMP_NUM_THREADS"]),
    ],
)
def test_only_what_may_matter_is_tried(monkeypatch, known, processes, gpu, names):
    monkeypatch.setattr(fix, "surroundings", lambda run: known)
    monkeypatch.setattr(fix, "used_gpu", lambda run: gpu)
    tried = [switch.typed for switch in applicable(SimpleNamespace(processes=[None] * processes))]
    assert len(tried) == len(names)
    assert all(typed.startswith(name) for typed, name in zip(tried, names, strict=True))


TIMES = [paired_price("control", "impl", "time per run", [(1.1, 1.0), (1.21, 1.0), (1.1, 1.1)])]


def test_the_ratio_is_the_geometric_mean_of_the_pairs():
    (price,) = TIMES
    assert price.ratio == pytest.approx(1.1)
    assert price.interval.low * price.interval.high == pytest.approx(1.1**2)
    assert paired_price("control", "impl", "time per run", [(1.0, 1.0)]).reason.startswith("it takes two runs")


def test_a_price_says_what_it_buys():
    ratio, *said = priced_sentences(Priced(command=COMMAND, prices=TIMES, held_repeats=True))
    shown = (
        "That deterministic kernels take longer does not show: 1.10 times as long (95% CI [0.87, 1.39]), time per run"
    )
    assert ratio.startswith(shown)
    assert said == ["The runs with free kernels differ."]
    work = paired_price("control", "impl", "processor time", [(1.3, 1.0), (1.31, 1.0)])
    pinned = Priced(command=COMMAND, prices=[*TIMES, work], may_vary=False, free_repeats=True)
    ratio, *said = priced_sentences(pinned)
    assert ratio.startswith("Deterministic kernels take 1.30 times as long (95% CI ")
    assert said == [
        "Kernels could not vary: threads are pinned, and no GPU is used.",
        "The runs with free kernels are bit-identical, too.",
        "The runs with held kernels differ: `deviate audit` looks for the cause.",
    ]
    assert "peak" not in repr(page_view(pinned))
    assert "time per run" in repr(page_view(pinned))


def test_the_operations_that_take_most_are_of_either_side():
    held = read_times(b'{"updates": 10, "operations": {"aten::mm": [10, 5000, 0], "aten::add": [1, 10, 0]}}')
    free = read_times(b'{"updates": 10, "operations": {"aten::mm": [10, 900, 3000], "wait": [1, 9, 0]}}')
    kernels = costliest(held, free)
    assert [(each.operation, each.held, each.free) for each in kernels] == [
        ("aten::mm", 0.5, 0.3),
        ("aten::add", 0.001, 0),
    ]
    assert "aten::add" in repr(page_view(Priced(command=COMMAND, prices=TIMES, kernels=kernels)))


def test_the_cheapest_switches_are_named_first():
    mended = [Mended(switches=["A=1", "B=2"], prices=TIMES)]
    assert list(fixed_sentences(Fixed(command=COMMAND, mended=mended))) == [
        "It repeats with A=1 and B=2: 3 runs bit-identical.",
        "That a run takes longer than one of the program as it is does not show: "
        "1.10 times as long (95% CI [0.87, 1.39]), over 3 pairs of runs made in turn.",
    ]
    parting = Parting(metric="loss", iteration=0, here=0.5, there=0.25)
    none = Fixed(command=COMMAND, parting=parting, tried=["A=1", "B=2"], held=False)
    assert list(fixed_sentences(none)) == [
        "No switch makes it repeat; tried, alone and together: A=1 and B=2.",
        "First difference: loss in the 1st iteration: 0.5 in the last run, 0.25 in the first.",
        "It differs even with everything held.",
    ]
    assert "deviate audit" in repr(page_view(none))
