"""What is recorded of steps, operations and lines, and that a program computes the same bits with and without."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest
from installed import require
from programs import INJECTED, Both

PROGRAM = """
import os
import torch
@torch.library.custom_op("fault::noise", mutates_args=())
def noise(x: torch.Tensor) -> torch.Tensor:
    return x + int.from_bytes(os.urandom(6), "big")
torch.manual_seed(3)
model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Dropout(0.3), torch.nn.Flatten(),
    torch.nn.Linear(144, 5),
)
optimizer = torch.optim.Adam(model.parameters())
loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.randn(24, 1, 8, 8), torch.arange(24) % 5), batch_size=4, shuffle=True
)
def train(x, y):
    error = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    error.backward()
    optimizer.step()
    return error.item()
noise(torch.ones(2, dtype=torch.long))
print([train(x, y) for x, y in loader], [float(w.double().sum()) for w in model.parameters()], torch.rand(1).item())
"""


def recorded(folder: Path) -> list[dict]:
    return [json.loads(line) for path in folder.glob("diverge-*.jsonl") for line in path.read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        pytest.param({}, marks=pytest.mark.nightly),
        {"record": ["update", None, None]},
        {"record": ["update", None, None], "alone": True},
    ],
    ids=["steps", "operations", "each twice"],
)
def test_a_program_computes_the_same_bits_as_without(both: Both, tmp_path: Path, order: dict) -> None:
    require("torch")
    # One of them imports torch with the runtime in the process; the others find it imported.
    seen = {"warm": "torch"} if order.get("alone") else {}
    both(PROGRAM, bare_in="torch", environment={"DEVIATE_DIVERGE": json.dumps(order)}, control="observe", **seen)
    records = recorded(next(path.parent for path in tmp_path.rglob("diverge-*.jsonl")))
    assert [each["step"] for each in records if each["e"] == "mark"] == [0, 1, 2, 4, 6]
    operations = [each for each in records if each["e"] == "operation"]
    assert bool(operations) == bool(order)
    if order.get("alone"):
        assert [(each["op"], each["line"]) for each in operations] == [("fault.noise.default", 22)]
        assert next(each["n"] for each in records if each["e"] == "done") > 300
    elif order:
        assert {each["phase"] for each in operations} == {"program", "data", "forward", "backward", "optimiser"}
        (convolved,) = {each["module"] for each in operations if each["op"] == "aten.convolution.default"}
        assert convolved == "Sequential.0"
        backward = next(each for each in operations if each["op"] == "aten.convolution_backward.default")
        assert (backward["forward"]["module"], backward["line"]) == ("Sequential.0", 19)


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(INJECTED))
    from deviate_runtime.diverging.digests import Digests

    return Digests(types.SimpleNamespace(streams=None)).of


def test_what_the_first_run_has_is_put_in_place_of_what_the_second_has(monkeypatch, tmp_path):
    require("torch")
    import torch

    monkeypatch.syspath_prepend(str(INJECTED))
    from deviate_runtime.diverging.operations import Kept

    place = ["aten.mul.Tensor", "", "train.py", 3, "program"]
    runs = [
        Kept(torch, types.SimpleNamespace(put=[[place, False]], put_from=folder, process=process))
        for folder, process in [(None, types.SimpleNamespace(config={"records": str(tmp_path)})), (str(tmp_path), None)]
    ]
    record = {"op": "aten.mul.Tensor", "file": "train.py", "line": 3, "phase": "program"}
    generator = torch.Generator()
    for number in range(2):
        for which, run in enumerate(runs):
            tensors = [torch.full((2, 3), number + 7.0 * which).T, torch.tensor(number == which)]
            run.put(dict(record, line=4), tensors)
            run.put(record, tensors, generator=generator.manual_seed(which))
            assert (tensors[0] == number).all()
            assert tensors[1] == (number == 0)
    assert generator.initial_seed() == 0


@pytest.mark.parametrize("change", ["ulp", "sign", "order", "dtype", "shape"])
def test_a_digest_sees_each_change_of_a_tensor(digest, change: str) -> None:
    require("torch")
    import torch

    tensor = torch.arange(-6.0, 6.0).reshape(3, 4)
    changed = {
        "ulp": lambda: torch.nextafter(tensor, tensor + (torch.arange(12).reshape(3, 4) == 5)),
        "sign": lambda: tensor * torch.where(torch.arange(12).reshape(3, 4) == 2, -1, 1),
        "order": lambda: tensor[[1, 0, 2]],
        "dtype": tensor.double,
        "shape": lambda: tensor.reshape(4, 3),
    }[change]()
    assert digest(changed) != digest(tensor)
    assert digest(tensor.clone()) == digest(tensor) is not None


def test_a_large_content_that_changes_in_its_place_has_another_digest(digest) -> None:
    require("torch")
    import torch

    tensor = torch.arange(1.0, 20001.0)
    array, before = tensor.numpy(), tensor.clone()
    first, of_array = digest(tensor), digest(array)
    for change in (lambda: tensor[7].nextafter_(torch.tensor(0.0)), lambda: tensor[:2].copy_(before[[1, 0]])):
        change()
        assert (digest(tensor), digest(array)) == (digest(tensor.clone()), digest(array.copy()))
        assert digest(tensor) != first
        assert digest(array) != of_array
        tensor.copy_(before)
        assert (digest(tensor), digest(array)) == (first, of_array)


def test_values_are_told_apart_by_content_and_order_and_sets_by_content(digest) -> None:
    assert digest([1, 2]) != digest([2, 1])
    assert digest({"a": 1, "b": 2}) != digest({"b": 2, "a": 1})
    assert digest({"x", "y", "z"}) == digest({"z", "y", "x"})
    assert digest({object(), object()}) == digest({object(), object()})
    assert digest({(1, 2), (3, 4)}) == digest({(3, 4), (1, 2)}) != digest({(1, 2), (3, 5)})
    assert (digest(0.1), digest("a"), digest(object())) == ("0.1", "'a'", None)


def test_a_typed_key_and_short_floats_of_jax_have_a_content(digest) -> None:
    require("jax")
    import jax

    key, brief = jax.random.key(1), jax.numpy.ones(3, jax.numpy.bfloat16)
    assert digest(key) not in (None, digest(jax.random.key(2)), digest(jax.random.split(key, 3)))
    assert digest(brief) not in (None, digest(brief + 1))


def test_a_statement_reads_and_writes_names_and_an_import_writes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(INJECTED))
    from deviate_runtime.diverging.lines import plan_of

    plan = plan_of(compile("import random\nx = random.random() + y.z\nx[0] = 1\n", "train.py", "exec"), {})
    assert [sorted(plan[line].writes) for line in (1, 2, 3)] == [[], ["x"], []]
    assert {"y.z"} < set(plan[2].reads)
    assert plan[3].stores
    assert not plan[2].stores


def test_an_attribute_that_is_added_to_is_read_and_written(monkeypatch):
    monkeypatch.syspath_prepend(str(INJECTED))
    from deviate_runtime.diverging.lines import plan_of

    source = "a.w -= r * g\na.b.w += g\nx = y = a.v\nf().z = x\n"
    plan = plan_of(compile(source, "train.py", "exec"), {})
    assert [sorted(plan[line].writes) for line in range(1, 5)] == [["a.w"], ["a.b.w"], ["x", "y"], []]
    assert [sorted(plan[line].reads) for line in range(1, 4)] == [["a.w", "g", "r"], ["a.b.w", "g"], ["a.v"]]


def test_a_statement_that_calls_nothing_and_writes_into_nothing_changes_no_object(monkeypatch):
    monkeypatch.syspath_prepend(str(INJECTED))
    from deviate_runtime.diverging.lines import plan_of

    source = "x = y[3] + z.w\nif x > 2:\n    x = -y\nx += y\nx[0] = y\nf(y)\nx = [each for each in y]\n"
    plan = plan_of(compile(source, "train.py", "exec"), {})
    assert [plan[line].acts for line in range(1, 8)] == [False, False, False, True, True, True, True]
    assert [line for line in plan if plan[line].alters] == [4]


def test_methods_that_a_library_made_for_a_class_of_the_program_have_no_lines(monkeypatch):
    monkeypatch.syspath_prepend(str(INJECTED))
    from deviate_runtime.diverging.lines import Lines

    callers = types.SimpleNamespace(is_program=lambda frame: True)
    lines = Lines(types.SimpleNamespace(process=types.SimpleNamespace(streams=types.SimpleNamespace(callers=callers))))
    lines.diverging.attempt = lambda function, file: None
    code = compile("x = 1", "<string>", "exec")
    frames = [types.SimpleNamespace(f_code=code, f_globals=names) for names in ({"__file__": "train.py"}, {})]
    # Text that is given to `python -c` is the program itself.
    assert [lines.plan(frame) is False for frame in frames] == [True, False]


def test_lines_rest_while_a_library_is_imported(monkeypatch):
    monkeypatch.syspath_prepend(str(INJECTED))
    from deviate_runtime.diverging.lines import Lines

    lines = Lines(types.SimpleNamespace(process=types.SimpleNamespace(streams=types.SimpleNamespace(callers=None))))
    lines.enter = lambda *_: None
    before = sys.gettrace()
    try:
        sys.settrace(None)
        seen = [lines.rest()]
        sys.settrace(lines.enter)
        seen += [lines.rest(), sys.gettrace()]
        lines.go_on()
        seen += [sys.gettrace()]
        lines.is_active = True
        lines.go_on()
        seen += [sys.gettrace()]
    finally:
        sys.settrace(before)
    assert seen == [False, True, None, None, lines.enter]
