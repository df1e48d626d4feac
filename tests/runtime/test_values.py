"""Which values are recorded, and that they are handed on unchanged."""

from __future__ import annotations

import math
import textwrap

import pytest
from installed import require
from programs import LABELLED, MAPPING, METER, Run


def test_a_float_is_recorded_bit_by_bit_and_handed_on(run: Run, python: str) -> None:
    outcome = run(
        "values = [0.1 + 0.2, float('nan'), float('inf'), -0.0]\nprint([__dv__(0, v) for v in values])", python=python
    )
    assert outcome.stdout == "[0.30000000000000004, nan, inf, -0.0]\n"
    first, nan, infinite, zero = outcome.values()
    assert (first, math.isnan(nan), infinite) == (0.1 + 0.2, True, math.inf)
    assert math.copysign(1, zero) == -1


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3", 3.0),
        ("True", 1.0),
        ("'0.93'", 0.93),
        ("' 93.1% '", 93.1),
        ("b'1e-3'", 0.001),
        ("'2m30s'", 150.0),
        ("'1d 2h03m04.5s'", 93784.5),
        ("'0:02:13'", 133.0),
        ("__import__('fractions').Fraction(1, 4)", 0.25),
        ("__import__('decimal').Decimal('0.5')", 0.5),
    ],
)
def test_what_float_reads_is_recorded(run: Run, expression: str, value: float) -> None:
    assert run(f"v = {expression}\nassert __dv__(0, v) is v").values() == [value]


@pytest.mark.parametrize(
    "expression",
    ["None", "'epoch 3'", "[1.0, 2.0]", "{1.0}", "object()", "1j", "10 ** 400", "''", "'%'", "b''"],
)
def test_what_is_no_number_is_handed_on_and_noted_once(run: Run, expression: str) -> None:
    outcome = run(f"v = {expression}\nfor _ in range(3):\n    assert __dv__(0, v) is v\nprint('on')")
    assert (outcome.stdout, outcome.stderr, outcome.status) == ("on\n", "", 0)
    assert outcome.values() == []
    (message,) = outcome.notes("value-unreadable")
    assert message.startswith("loss: ")


def test_of_a_value_that_turns_out_to_be_a_dictionary_the_numbers_in_it_are_recorded(run: Run, python: str) -> None:
    source = """
    stats = {"loss": 0.5, "epoch": "first", "top": {"1": 90.0}}
    assert __dv__(0, stats) is stats
    assert __dv__(2, stats, lambda: "test") is stats
    """
    outcome = run(textwrap.dedent(source), python=python)
    assert (outcome.named("loss"), outcome.named("top/1")) == ([0.5], [90.0])
    assert (outcome.named("test/loss"), outcome.named("test/top/1")) == ([0.5], [90.0])
    assert outcome.notes("value-unreadable") == []


def test_a_value_whose_float_raises_is_noted_and_the_training_goes_on(run: Run, python: str) -> None:
    source = """
    class Broken:
        def __float__(self):
            raise RuntimeError("no device")
    class Weird:
        def __float__(self):
            return "text"
    class Recursive:
        def __float__(self):
            return float(self)
    for value in (Broken(), Weird(), Recursive()):
        assert __dv__(0, value) is value
    print(__dv__(0, 1.0))
    """
    outcome = run(textwrap.dedent(source), python=python)
    assert (outcome.stdout, outcome.stderr, outcome.values()) == ("1.0\n", "", [1.0])
    assert (
        outcome.notes("value-unreadable")[0] == "loss: RuntimeError('no device')"
        or "no device" in outcome.notes("value-unreadable")[0]
    )


def test_attributes_are_read_off_a_meter(run: Run) -> None:
    source = "class Meter:\n    avg = 0.25\nm = Meter()\nassert __dv__(1, m) is m\n__dv__(1, 0.5)\n__dv__(1, object())"
    outcome = run(source)
    assert outcome.values(METER) == [0.25, 0.5]
    assert len(outcome.notes("value-unreadable")) == 1


def test_a_label_completes_the_name(run: Run, python: str) -> None:
    source = "for split in ('train', 'test', 'train'):\n    __dv__(2, len(split), lambda: split)"
    outcome = run(source, python=python)
    assert outcome.named("train acc") == [5.0, 5.0]
    assert outcome.named("test acc") == [4.0]
    assert [event["metric"] for event in outcome.of("name")] == [LABELLED, LABELLED]


def test_an_unbound_name_harms_nothing(run: Run) -> None:
    outcome = run("print(__dv__(2, 0.5, lambda: split), __dv_beside__(0, 'passed', lambda: loss))")
    assert (outcome.stdout, outcome.stderr) == ("0.5 passed\n", "")
    assert len(outcome.notes("value-unreadable")) == 2


def test_notes_that_are_left_out_are_counted(run: Run, python: str) -> None:
    outcome = run("__dv_map__(3, {'m%d' % number: [1] for number in range(5)})", python=python)
    assert (len(outcome.notes("value-unreadable")), outcome.of("notes-left-out")) == (5, [])
    outcome = run("__dv_map__(3, {'m%d' % number: [1] for number in range(11)})", python=python)
    assert len(outcome.notes("value-unreadable")) == 5
    assert [(event["slug"], event["count"]) for event in outcome.of("notes-left-out")] == [
        ("value-unreadable", 1),
        ("value-unreadable", 2),
        ("value-unreadable", 4),
    ]


def test_names_without_end_are_cut_off(run: Run) -> None:
    outcome = run("for step in range(3000):\n    __dv__(2, 1.0, lambda: 'step %d' % step)\nprint('on')")
    assert outcome.stdout == "on\n"
    assert len(outcome.of("name")) == 2000
    assert len(outcome.notes("too-many-names")) == 1


def test_the_numbers_of_a_mapping_are_recorded_under_their_keys(run: Run, python: str) -> None:
    source = """
    import collections
    Point = collections.namedtuple("Point", "x y")
    class Settings: pass
    settings = Settings(); settings.lr = 0.5
    stats = {"loss": 1.5, "val": {"acc": "93%", "deep": {"er": 2}}, "phase": "train", 3: 4.0, "many": [1, 2]}
    assert __dv_map__(3, stats) is stats
    assert __dv_map__(3, Point(1, 2)) == (1, 2)
    assert __dv_map__(3, settings) is settings
    assert __dv_map__(3, [1.0, 2.0]) == [1.0, 2.0]
    """
    outcome = run(textwrap.dedent(source), python=python)
    assert outcome.status == 0
    names = {event["name"]: outcome.named(event["name"]) for event in outcome.of("name")}
    assert names == {
        "loss": [1.5],
        "val/acc": [93.0],
        "val/deep/er": [2.0],
        "3": [4.0],
        "x": [1.0],
        "y": [2.0],
        "lr": [0.5],
    }
    assert {event["metric"] for event in outcome.of("name")} == {MAPPING}
    assert sorted(outcome.notes("value-unreadable")) == [
        "many of stats: it is of type list",
        "stats: it is no mapping but of type list",
    ]


def test_a_mapping_that_contains_itself_ends(run: Run) -> None:
    outcome = run("d = {'a': 1.0}\nd['self'] = d\nassert __dv_map__(3, d) is d\nprint('on')")
    assert outcome.stdout == "on\n"
    assert outcome.named("self/a") == [1.0]


def test_beside_records_one_value_and_hands_on_another(run: Run) -> None:
    outcome = run("loss = 0.75\nprint(__dv_beside__(0, 'text', lambda: loss))")
    assert (outcome.stdout, outcome.values()) == ("text\n", [0.75])


@pytest.mark.slow
def test_arrays_and_tensors_with_one_element_are_read_without_a_warning(run: Run) -> None:
    require("torch", "jax")
    source = """
    import numpy as np, torch, jax.numpy as jnp
    values = [np.float32(0.5), np.float64(0.1), np.array(2), np.array([[3.0]]), np.bool_(True), np.int64(7),
              torch.tensor(0.5, requires_grad=True), torch.tensor([4]), torch.tensor(1.5, dtype=torch.bfloat16),
              jnp.float32(0.25), jnp.array([5.0])]
    for value in values:
        assert __dv__(0, value) is value
    for value in (np.zeros(3), torch.zeros(2, 2), jnp.zeros(4), np.array([]), np.str_("x")):
        assert __dv__(0, value) is value
    """
    outcome = run(textwrap.dedent(source), "-W", "error", "program.py")
    assert (outcome.stderr, outcome.status) == ("", 0)
    assert outcome.values() == [0.5, 0.1, 2.0, 3.0, 1.0, 7.0, 0.5, 4.0, 1.5, 0.25, 5.0]
    assert len(outcome.notes("value-unreadable")) == 1


@pytest.mark.slow
def test_no_tensor_is_kept(run: Run) -> None:
    require("torch")
    source = """
    import gc, weakref, torch
    gc.disable()
    tensor = torch.ones(1, requires_grad=True).sum()
    seen = weakref.ref(tensor)
    __dv__(0, tensor); __dv__(2, tensor, lambda: "a"); __dv_map__(3, {"a": tensor}); __dv__(0, torch.zeros(3))
    del tensor
    assert seen() is None
    """
    assert run(textwrap.dedent(source), warm="torch").stderr == ""
