"""Which record of two runs is said to be the first that differs, and what is said of it."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from msgspec import structs

from deviate.observe.fingerprints import Fingerprint
from deviate.observe.identity import Difference
from deviate.probes.certificate import Change
from deviate.probes.diverge import Cause, Divergence, Explanation, remedied
from deviate.probes.divergence.lines import Lines, Origin, remedy_of
from deviate.probes.divergence.operations import first_difference
from deviate.probes.divergence.records import Frame, Mark, Operation, Process, Returned, Statement, as_far_as_both
from deviate.probes.divergence.steps import Bracket, OtherDraws, Recorded, compare_marks, other_draws, unit_of
from deviate.report.topics.diverge import divergence_page
from deviate.report.writers.terminal import render_terminal

# Steps


def marks(*weights, unit="update"):
    steps = (0, 1, 2, 4, 8)
    return [Mark(n=n, unit=unit, step=steps[n], parts={"weights": each}) for n, each in enumerate(weights)]


def test_two_runs_part_behind_the_last_mark_that_is_equal():
    bracket = compare_marks(marks("a", "b", "c", "d"), marks("a", "b", "c", "x", "y"), "update")
    assert (bracket.equal, bracket.differs, bracket.parts, bracket.is_exact) == (2, 4, ["weights"], False)
    assert compare_marks(marks("a", "b"), marks("a", "b", "c"), "update") is None
    assert compare_marks(marks("a"), marks("x"), "update").is_exact


def test_parts_come_in_the_order_in_which_a_step_makes_them():
    first, second = (
        Mark(
            n=0, unit="update", step=0, parts=dict.fromkeys(("generator torch", "gradients", "batch", "weights"), each)
        )
        for each in ("a", "b")
    )
    start = Mark(n=0, unit="update", step=0, parts={"weights": "a"})
    later = [msgspec.structs.replace(each, n=1, step=1) for each in (first, second)]
    parts = compare_marks([start, later[0]], [start, later[1]], "update").parts
    assert parts == ["weights", "batch", "gradients", "generator torch"]
    # A generator that nobody seeded differs from the start, whether or not anything is drawn from it.
    assert compare_marks([first], [second], "update").parts == parts[:-1]


def test_a_generator_that_nobody_seeds_parts_no_runs_unless_it_was_equal_before():
    def run(*states):
        steps = enumerate(states)
        return [Mark(n=n, unit="update", step=n, parts={"weights": "a", "generator random": each}) for n, each in steps]

    assert compare_marks(run("a", "b"), run("x", "y"), "update") is None
    assert compare_marks(run("a", "b"), run("a", "y"), "update").differs == 1


def test_iterations_count_where_no_optimizer_makes_a_step():
    assert unit_of(marks("a", unit="iteration"), marks("a", unit="iteration")) == "iteration"
    assert unit_of(marks("a"), marks("a")) == "update"


# Operations


def operation(n=0, op="aten.mul.Tensor", entered=("a",), left=("b",), **more):
    fields = {"scalars": "[]", "file": "train.py", "line": n, **more}
    return Operation(n=n, op=op, entered=list(entered), left=None if left is None else list(left), **fields)


def kind_of(first, second):
    found = first_difference(first, second)
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (None, {}, {}),
        ("operation", {}, {"left": ["x"]}),
        ("threads", {"threads": 1}, {"threads": 2, "left": ["x"]}),
        (None, {"threads": 1}, {"threads": 2}),
        ("draws", {"random": "state:1"}, {"random": "state:2", "left": ["x"]}),
        ("value", {"scalars": "[1]"}, {"scalars": "[2]", "left": ["x"]}),
        ("host", {}, {"entered": ["y"], "left": ["x"]}),
        ("shape", {"entered": ["f[2]:a"]}, {"entered": ["f[3]:a"], "left": ["x"]}),
        ("unfilled", {"unfilled": [0]}, {"entered": ["y"], "left": ["x"], "unfilled": [0]}),
        (None, {"entered": ["garbage"]}, {"entered": ["rubbish"]}),
        ("flow", {}, {"op": "aten.add.Tensor"}),
    ],
)
def test_what_differs_of_an_operation_tells_its_kind(kind, first, second):
    assert kind_of([operation(**first)], [operation(**second)]) == kind


def test_memory_that_changed_since_an_operation_left_it_is_no_fault_of_the_next_one():
    made = operation(0, left=["b"])
    ours, theirs = operation(1, entered=["b"], left=["c"]), operation(1, entered=["x"], left=["y"])
    assert kind_of([made, ours], [made, theirs]) == "memory"


def test_the_first_record_counts_and_not_what_follows_from_it():
    ours = [operation(0), operation(1, left=["c"]), operation(2, entered=["c"], left=["d"])]
    theirs = [operation(0), operation(1, left=["x"]), operation(2, entered=["x"], left=["y"])]
    found = first_difference(ours, theirs)
    assert (found.kind, found.first.n, found.before.n) == ("operation", 1, 0)


def test_an_operation_that_one_run_alone_has_is_another_way_through_the_program():
    found = first_difference([operation(0), operation(1), operation(2)], [operation(0), operation(2)])
    assert (found.kind, found.first.n, found.second) == ("flow", 1, None)


def test_what_a_run_that_was_ended_lacks_is_no_other_way_through_the_program():
    ours, theirs = Process(operations=[operation(0), operation(1)]), Process(operations=[operation(0)])
    assert first_difference(ours.operations, theirs.operations).kind == "flow"
    first, second = as_far_as_both(ours, theirs)
    assert [each.n for each in first.operations] == [each.n for each in second.operations] == [0]
    assert first_difference(first.operations, second.operations) is None


# Statements


@pytest.mark.parametrize(("kind", "given"), [("operation", False), ("host", True), ("flow", None)])
def test_what_an_operation_leaves_or_is_given_can_be_put_in_place_where_both_runs_call_it(kind, given):
    other = {"operation": {"left": ["x"]}, "host": {"entered": ["y"], "left": ["x"]}, "flow": {"op": "aten.add.Tensor"}}
    pair = process((), (), (), [operation()]), process((), (), (), [operation(**other[kind])])
    place = Explanation([pair], bracket=None, code=None).place()
    assert place == (None if given is None else (("aten.mul.Tensor", "", "train.py", 0, "program"), given))


def process(frames, statements, returns=(), operations=()):
    made = Process(lineage=("0",))
    for record in (*frames, *statements, *returns, *operations):
        made.add(record)
    return made


def statement(n, line, reads=None, writes=None, f=0, **more):
    return Statement(n=n, f=f, line=line, reads=reads or {}, writes=writes or {}, begin=n - 1, **more)


MAIN = Frame(n=0, f=0, parent=None, file="train.py", function="<module>")


def origins(first, second, frames=(MAIN,), returns=((), ())):
    return Lines(process(frames, first, returns[0]), process(frames, second, returns[1]))


def test_the_statement_that_reads_what_is_equal_and_leaves_what_is_not():
    def run(seed):
        return [
            statement(2, 1, writes={"seed": seed}),
            statement(4, 2, writes={"other": "3"}),
            statement(6, 3, {"seed": seed}, {"data": f"list:{seed}"}),
            statement(9, 4, {"data": f"list:{seed}", "other": "3"}, {"x": f"f:{seed}"}),
        ]

    found = origins(run("1"), run("2")).at_operation(0, 8)
    assert (found.kind, found.line, found.name, found.first, found.second) == ("statement", 1, "seed", "1", "2")


def test_without_steps_the_first_array_or_model_that_differs_counts_and_no_clock():
    def run(clock, model):
        fitted = f"Forest[]:{model}"
        return [
            statement(2, 1, writes={"start": clock}),
            statement(4, 2, writes={"x": "<f8[3]:a", "model": "Forest[]:a"}),
            statement(6, 3, {"x": "<f8[3]:a", "model.fit": "Forest[]:a"}, {"model.fit": fitted}),
            statement(8, 4, {"model": fitted}, {"labels": f"<i8[3]:{model}"}),
        ]

    first, second, late = (process([MAIN], run(*each)) for each in (("1.5", "b"), ("2.5", "c"), ("3.5", "b")))
    found = Lines(first, second).of_arrays()
    assert (found.kind, found.line, found.name) == ("statement", 3, "model.fit")
    assert Lines(first, late).of_arrays() is None


def test_of_several_names_that_differ_the_one_whose_origin_comes_first_counts():
    def run(split, layer):
        return [
            statement(2, 1, writes={"x": f"<f8[3]:{split}"}),
            statement(4, 2, writes={"model": f"Sequential[]:{layer}"}),
            statement(6, 3, {"model": f"Sequential[]:{layer}", "x": f"<f8[3]:{split}"}, {"fitted": f"f:{split}"}),
        ]

    lines = origins(run("a", "b"), run("c", "d"))
    assert [lines.of_names(names).line for names in (["x", "model"], ["model", "x"], ["model"])] == [1, 1, 2]


@pytest.mark.parametrize(("how", "line"), [({"alters": True}, 3), ({"stores": True}, 3), ({}, None)])
def test_an_array_that_was_changed_by_another_name_is_followed_there(how, line):
    def run(noise):
        return [
            statement(2, 1, writes={"data": "<f4[3]:a"}),
            statement(4, 2, {"data": "<f4[3]:a"}, {"view": "<f4[3]:a"}),
            statement(6, 3, {"view": "<f4[3]:a"}, {"view": f"<f4[3]:{noise}"}, **how),
            statement(8, 4, {"data": f"<f4[3]:{noise}"}, {"x": f"f:{noise}"}),
        ]

    found = origins(run("b"), run("c")).at_operation(0, 8)
    assert (found.line, found.kind) == ((line, "statement") if line else (4, "before"))


def test_a_value_one_of_whose_attributes_is_read_is_followed_to_where_it_was_made():
    def run(value):
        return [statement(2, 1, writes={"x": value}), statement(4, 2, {"x.reshape": value}, {"y": value})]

    assert origins(run("f:1"), run("f:2")).at_operation(0, 4).line == 1


def test_a_statement_to_which_many_ways_lead_back_is_followed_once():
    def run(noise):
        names = [{"a": f"{noise}{n}", "b": f"{noise}{n}"} for n in range(60)]
        made = statement(1, 1, {}, names[0])
        return [
            made,
            *(statement(n + 1, n + 1, names[n - 1], {each: names[n][each]}) for n in range(1, 60) for each in "ab"),
        ]

    assert origins(run("1"), run("2")).of_names(["a"]).line == 1


def test_an_attribute_is_followed_to_the_method_that_gave_it_this_value():
    made = Frame(n=1, f=1, parent=0, file="train.py", function="__init__")
    read = Frame(n=6, f=2, parent=0, file="train.py", function="fold")

    def run(value, *given):
        lines = [statement(n, 3, writes={"self.name": each}, f=1) for n, each in zip((2, 4), given, strict=True)]
        return [*lines, statement(7, 5, {"self.name": value}, f=2), statement(8, 9, {"one": "C"}, {"y": value})]

    def found(*runs):
        return origins(*(run(*each) for each in runs), (MAIN, made, read)).at_operation(2, 7)

    first = found(("x", "x", "p"), ("y", "y", "q"))
    assert (first.kind, first.line, first.function, first.name) == ("statement", 3, "__init__", "self.name")
    # Another object's attribute of that name has another value.
    assert found(("x", "m", "p"), ("y", "n", "q")).kind == "before"


def test_what_a_function_returned_leads_into_it():
    inner = Frame(n=3, f=1, parent=0, file="data.py", function="load")

    def run(value):
        lines = [
            statement(5, 7, writes={"clock": value}, f=1),
            statement(6, 8, {"clock": value}, f=1),
            Statement(n=8, f=0, line=2, reads={}, writes={"x": value}, begin=2),
            statement(10, 3, {"x": value}),
        ]
        return lines, [Returned(n=7, f=1, value=value)]

    first, second = run("1"), run("2")
    found = origins(first[0], second[0], (MAIN, inner), (first[1], second[1])).at_operation(0, 10)
    assert (found.file, found.line, found.function) == ("data.py", 7, "load")


def test_a_value_is_followed_through_hundreds_of_statements_and_never_to_the_same_one_again():
    def run(noise):
        weights = [f"<f8[3]:{number if number < 2 else noise}{number}" for number in range(380)]
        steps = enumerate(itertools.pairwise(weights), 1)
        return [
            Statement(n=n, f=0, line=n, reads={"w": old}, writes={"w": new}, begin=n, alters=True)
            for n, (old, new) in steps
        ]

    first, second = (process([MAIN], run(noise)) for noise in "ab")
    end = Bracket(unit="iteration", equal=0, differs=1, parts=["w"])
    assert Explanation([(first, second)], end, lambda *_: "").cause().line == 2
    first, second = (
        process([MAIN], [statement(1, 1, {"w": "<f8[3]:a"}), *statements])
        for statements in (
            [Statement(n=2, f=0, line=2, reads={"w": f"<f8[3]:{n}"}, writes={"w": n}, begin=2, alters=True)]
            for n in "bc"
        )
    )
    assert Lines(first, second).of_names(["w"]).kind == "before"


@pytest.mark.parametrize("returned", ["<f8[3]:", "f:"])
def test_what_a_called_function_draws_counts_before_options_that_hold_a_time(returned):
    inner = Frame(n=5, f=1, parent=0, file="data.py", function="load")

    def run(value):
        options, made = f"dict of 2:{value}", f"{returned}{value}"
        lines = [
            statement(2, 1, writes={"args": options}),
            statement(7, 8, {"args.scale": "2.0"}, {"made": made}, f=1),
            statement(8, 9, {"made": made}, f=1),
            Statement(n=10, f=0, line=2, reads={"args": options}, writes={"x": made}, begin=4),
            statement(12, 3, {"x": made}),
        ]
        return lines, [Returned(n=9, f=1, value=made)]

    first, second = run("1"), run("2")
    found = origins(first[0], second[0], (MAIN, inner), (first[1], second[1])).at_operation(0, 12)
    assert (found.file, found.line) == ("data.py", 8)


def test_a_generator_that_nothing_seeded_is_told_from_one_that_was():
    def run(state, seed):
        seeded = statement(2, 1, {"random": f"state:{state}", "s": seed}, {"random": f"state:s{seed}"}, seeds=True)
        drawn = statement(4, 2, {"random": f"state:s{seed}"}, {"x": f"f:{seed}", "random": f"state:t{seed}"})
        return [statement(1, 9, writes={"s": seed}), seeded, drawn]

    found = origins(run("1", "5"), run("2", "6")).at_operation(0, 4)
    assert (found.kind, found.line) == ("statement", 9)
    unseeded = [run("1", "5")[2:], run("2", "6")[2:]]
    assert origins(*unseeded).at_operation(0, 4).kind == "unseeded"


def test_a_generator_that_a_statement_does_not_draw_from_is_no_cause():
    def run(state, value):
        return [statement(2, 1, {"np.frombuffer": f"state:{state}"}, {"x": value})]

    found = origins(run("1", "f:a"), run("2", "f:b")).at_operation(0, 1)
    assert (found.kind, found.line, found.name) == ("statement", 1, "x")


def test_a_number_that_was_put_into_an_object_is_followed_to_where_it_came_from():
    def run(rate):
        return [
            statement(2, 1, writes={"rate": rate}),
            statement(4, 2, {"rate": rate}, stores=True),
            statement(6, 3, {"optimizer": None}),
        ]

    found = origins(run("0.1"), run("0.2")).of_numbers([("0.1", "0.2")], 5)
    assert (found.line, found.name) == (1, "rate")


def test_runs_that_go_on_with_other_statements_part_at_what_decided_it():
    first = [statement(2, 1, writes={"n": "1"}), statement(4, 2, {"n": "1"}), statement(6, 3)]
    second = [statement(2, 1, writes={"n": "2"}), statement(4, 2, {"n": "2"}), statement(6, 5)]
    assert origins(first, second).parting().line == 1


# Runs that were recorded


def drawn(name, *series, content=None):
    known = {"count": 4, "processes": 1, "ended": 1, "drawn": content}
    return Fingerprint(name=name, digest=series[-1], first=series[0], series=[list(series)], **known)


def test_the_draws_that_differ_first_come_first_and_content_of_equal_draws_is_none():
    def run(order, crops, weights):
        prints = [drawn("shuffle", order), drawn("augment", "a", "b", crops), drawn("init", weights, content="equal")]
        return {each.name: each for each in [*prints, drawn("layers", "a", "b")]}

    found = other_draws(run("o", "c", "w"), run("p", "d", "x"))
    assert found == [OtherDraws(factor="shuffle", equal=0), OtherDraws(factor="augment", equal=2)]


def test_what_two_runs_of_an_experiment_recorded_is_said_in_the_order_in_which_it_differs():
    value = Difference(run="b", other="a", metric="loss", iteration=2, value=0.5, other_value=0.25)
    draws = [OtherDraws(factor="shuffle", equal=0), OtherDraws(factor="layers", equal=4)]
    text = said(None, recorded=Recorded(draws=draws, value=value, is_equal=False), name="base", runs=["a", "b"])
    assert "first differ in the draws for data order, from the first draw on. They also differ in those for" in text
    assert "The first value that differs is `loss` in the 3rd iteration." in text
    late = Recorded(draws=draws[1:], value=None, is_equal=False)
    assert "behind draw 4." in said(None, recorded=late)
    change = Change(name="threads", here="2", there="3")
    elsewhere = Recorded(draws=[], value=value, is_equal=False, environment=[change])
    assert "Their surroundings differ in threads (2 and 3)." in said(None, recorded=elsewhere, runs=["a/x-0", "b/x-0"])
    equal = Recorded(draws=[], value=None, is_equal=True)
    assert "recorded equal values, draws and weights" in said(None, parted=False, recorded=equal)


# What is said

NAMED = Cause(
    kind="operation",
    file="train.py",
    line=12,
    code="y = mix(x)",
    operation="fault.mix",
    phase="forward",
    module="Net.block",
    seen_file="train.py",
    seen_line=12,
)
ORIGIN = Origin(kind="statement", file="data.py", line=3, function="load", name="seed", first="1", second="2")


def said(cause, **more):
    fields = {"parted": True, "steps": 9, "step": 4, "equal": 3, "parts": ["loss"], "cause": cause, **more}
    facts = Divergence(command=["python", "train.py"], variant="control", **fields)
    return " ".join(render_terminal(divergence_page(facts, "screen"), 200).split())


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("first part in `fault.mix` at `train.py:12`: its inputs are equal, and its output differs", NAMED),
        ("it runs with another number of threads", structs.replace(NAMED, kind="threads")),
        ("memory that nothing filled, allocated by `fault.mix`", structs.replace(NAMED, kind="unfilled")),
        ("The runs call other operations from `fault.mix` at `train.py:12` on", structs.replace(NAMED, kind="flow")),
        ("it is given other data, and no line that made it was found", structs.replace(NAMED, kind="host")),
        ("first part at `data.py:3`: `seed` is 1 in one", structs.replace(NAMED, kind="host", origin=ORIGIN)),
        ("nothing seeded that generator", Cause(kind="line", origin=structs.replace(ORIGIN, kind="unseeded"))),
        ("go on with other lines behind `data.py:3`", Cause(kind="line", origin=structs.replace(ORIGIN, kind="flow"))),
        ("`seed` differs", Cause(kind="line", origin=structs.replace(ORIGIN, first="", second=""))),
        ("`m` differs", Cause(kind="line", code="m.fit(x)", origin=structs.replace(ORIGIN, name="m.fit", first=""))),
        ("what it leaves differs", Cause(kind="line", origin=structs.replace(ORIGIN, name="", first="", second=""))),
        ("between update 3 and update 4; neither an operation nor a line", Cause(kind="between")),
    ],
)
def test_each_kind_of_cause_has_its_sentence(text, cause):
    assert text in said(cause)


def test_what_differs_next_is_listed_and_that_nothing_does_is_said():
    text = said(NAMED, explained=True, further=[structs.replace(NAMED, line=30, code="z = mix(y)")])
    assert (
        "With the first run's results put there and at the places below, nothing else differs up to update 4." in text
    )
    assert "2 train.py:30 z = mix(y)" in text


def test_operations_of_one_run_that_do_not_repeat_are_named():
    assert "`fault.mix` at `train.py:12` does not repeat: called twice with" in said(NAMED, alone=True)
    text = said(None, alone=True, parted=False, operations=7)
    assert "Each of 7 operations in 9 updates was called twice and left equal bits." in text


def test_equal_runs_are_counted_and_runs_that_were_not_compared_are_not():
    assert "equal in 9 updates, bit for bit" in said(None, parted=False, limited=True)
    assert said(Cause(kind="between"), steps=0, equal=None, at_end=True, parts=[]).endswith("shows the cause.")
    assert "equal in 7 statements, bit for bit" in said(None, parted=False, steps=0, statements=7)
    assert "ended after 600 seconds" in said(None, parted=False, limited=True)
    assert "not compared: it failed" in said(None, parted=None, reason="it failed")
    assert [Divergence(command=[], variant="control", parted=each).status for each in (False, True, None)] == [0, 1, 1]


def test_the_remedy_is_of_the_line_or_of_the_operation():
    assert "sort" in remedy_of("host", "", "names = os.listdir('.')", ORIGIN)
    assert "deterministic" in remedy_of("operation", "aten.index_add.default", "", None)
    assert "env.reset(seed=0)" in remedy_of("host", "", "state, _ = env.reset()", ORIGIN)
    assert "random_state" in remedy_of("line", "", "a, b = train_test_split(x)", ORIGIN)
    # What a library's fit draws from, or reads, its name does not tell.
    assert remedy_of("line", "", "model.fit(x, y)", ORIGIN) == ""
    assert remedy_of("host", "", "x = f(y)", ORIGIN) == ""


def test_no_switch_that_is_set_already_is_a_remedy():
    cause = structs.replace(NAMED, kind="operation", remedy="torch.use_deterministic_algorithms(True)")
    assert remedied(cause, is_held=False) == cause
    assert "was set and did not help" in remedied(cause, is_held=True).remedy
    line = structs.replace(cause, kind="line", remedy="sort the names")
    assert remedied(line, is_held=True) == line
