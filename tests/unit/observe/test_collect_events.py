"""What processes say beside their records, over the runs of an experiment."""

import pytest
from made import make_experiment, make_run, metric, read

from deviate.core.experiment import Draw, Span
from deviate.observe import events
from deviate.observe.events import (
    environment_differences,
    given_seeds,
    kept_seeds,
    notes,
    notes_left_out,
    reached_draws,
    replaced_seeds,
    switches,
    turned_bit,
    used_gpu,
)
from deviate.observe.records import read_run
from deviate.store.run_files import Cancelled, RunInfo

STOPPED = Cancelled(seconds=1.0, reason="Ctrl-C or a signal")
SEED = {"event": "seed", "call": "torch.manual_seed", "file": "train.py", "line": 12, "given": "0", "used": 123}


def environment(**values):
    return {"event": "environment", "threads": 1, "libraries": {"torch": "2.13"}, **values}


def made(tmp_path, *events_of_runs):
    folder = make_experiment(tmp_path, [metric("acc")])
    return [make_run(folder, index, [], events=events) for index, events in enumerate(events_of_runs)]


def test_a_replaced_seed_is_told_once_with_its_runs(tmp_path):
    runs = made(tmp_path, [SEED, SEED], [{**SEED, "used": 5}], [{**SEED, "line": 2}])
    found = replaced_seeds(read(runs))
    assert [(seed.line, seed.runs) for seed in found] == [(2, ["control-2"]), (12, ["control-0", "control-1"])]
    assert (found[1].call, found[1].file, found[1].given) == ("torch.manual_seed", "train.py", "0")


def test_switches_and_notes_are_merged(tmp_path):
    switch = {"event": "switch", "name": "cudnn.benchmark", "value": False}
    note = {"event": "note", "slug": "value-unreadable", "message": "m"}
    runs = made(tmp_path, [switch, note], [switch])
    assert [(each.name, each.value, len(each.runs)) for each in switches(read(runs))] == [
        ("cudnn.benchmark", "False", 2)
    ]
    assert [(each.slug, each.runs) for each in notes(read(runs))] == [("value-unreadable", ["control-0"])]


def test_notes_that_a_process_left_out_are_counted_by_slug(tmp_path):
    left = [{"event": "notes-left-out", "slug": "value-unreadable", "count": count} for count in (1, 2, 4)]
    assert notes_left_out(read(made(tmp_path, left, left[:1], []))) == {"value-unreadable": 4}


def test_values_of_any_shape_can_be_merged(tmp_path):
    runs = made(tmp_path, [{**SEED, "given": [1, {"a": 2}], "line": None}])
    assert replaced_seeds(read(runs))[0].given == '[1,{"a":2}]'


def test_equal_environments_do_not_differ(tmp_path):
    runs = made(tmp_path, [environment(pid=1)], [environment(pid=2)])
    assert environment_differences(read(runs)) == []
    assert events.environment(read_run(runs[0]))["libraries"] == {"torch": "2.13"}
    assert events.environment(read_run(runs[0]))["python"] == "3.11.7"


def test_a_difference_names_the_key_and_the_runs(tmp_path):
    other = environment(libraries={"torch": "2.12"})
    runs = made(tmp_path, [environment()], [environment()], [other])
    (difference,) = environment_differences(read(runs))
    assert (difference.variant, difference.name) == ("control", "libraries.torch")
    assert difference.values == {'"2.13"': ["control-0", "control-1"], '"2.12"': ["control-2"]}


def test_what_the_tool_itself_varies_is_no_difference(tmp_path):
    runs = made(tmp_path, *([environment(variables={"PYTHONHASHSEED": str(seed)})] for seed in (1, 2)))
    assert environment_differences(read(runs)) == []


def test_a_run_that_said_nothing_is_not_taken_for_different(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    runs = [make_run(folder, 0, [], events=[environment()]), make_run(folder, 1)]
    assert environment_differences(read(runs)) == []


def test_what_a_run_did_not_say_before_it_was_ended_is_not_taken_for_a_difference(tmp_path):
    runs = made(tmp_path, [environment(cpu="a")], [environment(cpu="a")], [])
    assert "python" in events.environment(read_run(runs[2]))
    assert environment_differences(read(runs)) == []


def test_an_interrupted_run_that_had_not_imported_all_is_not_taken_for_different(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")])
    whole, cut = environment(libraries={"torch": "2.13", "pandas": "3.1"}), environment()
    runs = [make_run(folder, 0, [], events=[whole]), make_run(folder, 1, [], events=[cut], outcome=STOPPED)]
    assert environment_differences(read(runs)) == []
    other = make_run(folder, 2, [], events=[environment(libraries={"torch": "2.12"})], outcome=STOPPED)
    assert [each.name for each in environment_differences(read([*runs, other]))] == ["libraries.torch"]


def with_info(run, **changes):
    fields = {
        "variant": "control", "index": 0, "seeds": None, "hold_impl": True, "argv": [], "cwd": "", "environment": {},
        "executor": "local", "host": "here", "slot": 0, "jobs": 1, "started": "",
    }  # fmt: skip
    run.write_info(RunInfo(**{**fields, **changes}))
    return run


def test_the_environment_holds_what_the_tool_knows_of_the_machine(tmp_path):
    (run,) = made(tmp_path, [environment(variables={"KERAS_BACKEND": "jax"})])
    with_info(run, git="1f0c2d9", system="Linux", variables={"MKL_CBWR": "AUTO"}, installed_gpus=["H200, driver 1"])
    found = events.environment(read_run(run))
    assert (found["host"], found["git"], found["system"]) == ("here", "1f0c2d9", "Linux")
    assert found["installed_gpus"] == ["H200, driver 1"]
    assert found["variables"] == {"MKL_CBWR": "AUTO", "KERAS_BACKEND": "jax"}


def test_another_commit_of_the_same_snapshot_is_no_difference_and_another_host_is(tmp_path):
    runs = made(tmp_path, [environment()], [environment()])
    for place, run in enumerate(runs):
        with_info(run, git=str(place), host=str(place))
    assert [each.name for each in environment_differences(read(runs))] == ["host"]


def test_a_run_that_is_anothers_has_that_ones_environment(tmp_path):
    runs = made(tmp_path, [environment()], [environment()])
    for run, changes in zip(runs, ({}, {"variables": {"MKL_CBWR": "AUTO"}}), strict=True):
        with_info(run, **changes)
    assert [each.name for each in environment_differences(read(runs))] == ["variables.MKL_CBWR"]
    with_info(runs[1], variables={"MKL_CBWR": "AUTO"}, same_as="algo-1")
    assert environment_differences(read(runs)) == []


@pytest.mark.parametrize(("given", "recorded", "known"), [(2, 1, 1), (2, None, 2), (2, 2, 2), (None, 1, None)])
def test_the_threads_of_a_run_are_those_that_the_program_left(tmp_path, given, recorded, known):
    switch = {"event": "switch", "name": "torch.set_num_threads", "value": 2}
    (run,) = made(tmp_path, [environment(threads=recorded), switch])
    with_info(run, threads=given)
    assert events.threads(read_run(run)) == known
    assert bool(events.switches(read([run]))) == (known == given)


def test_emulated_platforms_differ_on_purpose(tmp_path):
    folder = make_experiment(tmp_path, [metric("acc")], ["platform"])
    runs = [
        make_run(folder, threads, [], variant="platform", events=[environment(threads=threads, cpu=cpu)])
        for threads, cpu in ((1, "a"), (2, "b"))
    ]
    assert [each.name for each in environment_differences(read(runs))] == ["cpu"]


HIDDEN = {"installed_gpus": ["H200"], "variables": {"CUDA_VISIBLE_DEVICES": ""}}


@pytest.mark.parametrize(
    ("said", "info", "used"),
    [
        ({"gpu": {"names": ["H200"]}}, {}, True),
        ({"gpu": None}, {"installed_gpus": ["H200"]}, False),
        ({"libraries": {"jax": "0.10"}}, {"installed_gpus": ["H200"]}, True),
        (
            {"libraries": {"jax": "0.10"}},
            {"installed_gpus": ["H200"], "variables": {"CUDA_VISIBLE_DEVICES": ""}},
            False,
        ),
        ({"libraries": {"jax": "0.10"}}, {}, False),
    ],
)
def test_a_gpu_that_may_have_been_used_counts_as_used(tmp_path, said, info, used):
    (run,) = made(tmp_path, [environment(**said)])
    assert used_gpu(read_run(with_info(run, **info))) is used


DRAW = Draw(file="a.py", line=3, function="f", call="rng.rand", factor="other", why="", span=Span(3, 0, 3, 8))


def test_draws_that_were_reached_are_told_with_their_runs(tmp_path):
    runs = made(tmp_path, [{"event": "draw", "site": 0}], [{"event": "draw", "site": 7}, {"event": "draw"}])
    (found,) = reached_draws(read(runs), [DRAW])
    assert (found.call, found.file, found.line, found.runs) == ("rng.rand", "a.py", 3, ["control-0"])


def test_a_draw_counts_for_each_factor_that_it_drew_for(tmp_path):
    runs = made(tmp_path, [{"event": "draw", "site": 0, "factor": each} for each in ("layers", "other")])
    assert {found.factor for found in reached_draws(read(runs), [DRAW])} == {"layers", "other"}


def test_seeds_that_hold_the_data_are_kept(tmp_path):
    source = {"generator": "numpy", "call": "numpy.random.seed", "file": "train.py", "line": 4, "given": "1"}
    said = {"event": "fingerprint", "name": "data", "digest": "aa", "moment": "end", "count": 1, "sources": [source]}
    runs = made(tmp_path, [said, {**SEED, "replaced": True}], [said])
    assert [(seed.line, seed.given, len(seed.runs)) for seed in kept_seeds(read(runs))] == [(4, "1", 2)]
    assert [seed.line for seed in replaced_seeds(read(runs))] == [12]


@pytest.mark.parametrize("name", ["data", "seed"])
def test_a_seed_that_only_data_or_seeds_were_drawn_from_is_not_replaced(tmp_path, name):
    place = {"call": "numpy.random.default_rng", "file": "train.py", "line": 6, "given": "1"}
    print_of = {"event": "fingerprint", "digest": "aa", "moment": "end", "count": 1}
    data = {**print_of, "name": name, "sources": [{"generator": "numpy", **place}]}
    seed = {**SEED, **place, "replaced": True}
    alone, both = made(tmp_path, [data, seed], [data, {**data, "name": "shuffle"}, seed])
    assert replaced_seeds(read([alone])) == []
    assert [each.line for each in replaced_seeds(read([both]))] == [6]


def test_of_several_keys_none_is_said_to_be_replaced_or_kept(tmp_path):
    keys = [{"call": "jax.random.key", "file": "fit.py", "line": line, "given": ""} for line in (2, 3)]
    said = {"event": "fingerprint", "digest": "aa", "moment": "end", "count": 1}
    any_of_them = {**said, "sources": [{**key, "generator": "jax ?"} for key in keys]}
    first = {**said, "name": "init", "sources": [{**keys[0], "generator": "jax"}]}
    drawn = [{**any_of_them, "name": name} for name in ("data", "layers")]
    unknown, known = made(tmp_path, [*drawn, *({**SEED, **key} for key in keys)], [first, *drawn, {**SEED, **keys[0]}])
    assert (kept_seeds(read([unknown])), replaced_seeds(read([unknown]))) == ([], [])
    assert (kept_seeds(read([known])), [seed.line for seed in replaced_seeds(read([known]))]) == ([], [2])


def test_seeds_that_were_only_looked_at_are_not_replaced(tmp_path):
    runs = made(tmp_path, [{**SEED, "replaced": False, "library": True}])
    assert replaced_seeds(read(runs)) == []
    assert [seed.library for seed in given_seeds(read(runs))] == [True]


def test_the_weight_that_was_changed_is_read(tmp_path):
    bit = {"event": "bit", "tensor": "w", "index": [1, 2], "before": 0.5, "after": 0.25}
    runs = made(tmp_path, [bit], [])
    assert (
        turned_bit(read_run(runs[0])).index,
        turned_bit(read_run(runs[0])).after,
        turned_bit(read_run(runs[1])),
    ) == ("[1,2]", "0.25", None)
