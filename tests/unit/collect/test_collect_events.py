"""What processes say beside their records, over the runs of an experiment."""

from made import make_experiment, make_run, metric

from deviate import collect

SEED = {"event": "seed", "call": "torch.manual_seed", "file": "train.py", "line": 12, "given": "0", "used": 123}


def environment(**values):
    return {"event": "environment", "threads": 1, "libraries": {"torch": "2.13"}, **values}


def made(tmp_path, *events_of_runs):
    folder = make_experiment(tmp_path, [metric("acc")])
    return [make_run(folder, index, [], events=events) for index, events in enumerate(events_of_runs)]


def test_a_replaced_seed_is_told_once_with_its_runs(tmp_path):
    runs = made(tmp_path, [SEED, SEED], [{**SEED, "used": 5}], [{**SEED, "line": 2}])
    found = collect.replaced_seeds(runs)
    assert [(seed.line, seed.runs) for seed in found] == [(2, ["control-2"]), (12, ["control-0", "control-1"])]
    assert (found[1].call, found[1].file, found[1].given) == ("torch.manual_seed", "train.py", "0")


def test_switches_and_notes_are_merged(tmp_path):
    switch = {"event": "switch", "name": "cudnn.benchmark", "value": False}
    note = {"event": "note", "slug": "value-unreadable", "message": "m"}
    runs = made(tmp_path, [switch, note], [switch])
    assert [(each.name, each.value, len(each.runs)) for each in collect.switches(runs)] == [
        ("cudnn.benchmark", "False", 2)
    ]
    assert [(each.slug, each.runs) for each in collect.notes(runs)] == [("value-unreadable", ["control-0"])]


def test_values_of_any_shape_can_be_merged(tmp_path):
    runs = made(tmp_path, [{**SEED, "given": [1, {"a": 2}], "line": None}])
    assert collect.replaced_seeds(runs)[0].given == '[1,{"a":2}]'


def test_equal_environments_do_not_differ(tmp_path):
    runs = made(tmp_path, [environment(pid=1)], [environment(pid=2)])
    assert collect.environment_differences(runs) == []
    assert collect.environment(runs[0])["libraries"] == {"torch": "2.13"}
    assert collect.environment(runs[0])["python"] == "3.11.7"


def test_a_difference_names_the_key_and_the_runs(tmp_path):
    other = environment(libraries={"torch": "2.12"})
    runs = made(tmp_path, [environment()], [environment()], [other])
    (difference,) = collect.environment_differences(runs)
    assert (difference.variant, difference.name) == ("control", "libraries.torch")
    assert difference.values == {'"2.13"': ["control-0", "control-1"], '"2.12"': ["control-2"]}


def test_what_the_tool_itself_varies_is_no_difference(tmp_path):
    runs = made(tmp_path, *([environment(variables={"PYTHONHASHSEED": str(seed)})] for seed in (1, 2)))
    assert collect.environment_differences(runs) == []


def test_a_run_that_said_nothing_is_not_taken_for_different(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    runs = [make_run(folder, 0, [], events=[environment()]), make_run(folder, 1)]
    assert collect.environment_differences(runs) == []
