"""Runs that repeat one draw: whose verdicts would be about that draw, not about recipes."""

import pytest
from compared_sides import prints, side, side_metric, sides
from msgspec import structs

from deviate.core.errors import BadOption
from deviate.core.experiment import IMPORTED
from deviate.facts.comparable import pair_runs, repeated_draws
from deviate.facts.comparison import compare_sides
from deviate.facts.comparison_options import ComparisonOptions, Drop, GateOptions
from deviate.facts.gate import check_side
from deviate.observe.fingerprints import Fingerprint
from deviate.report.topics.comparison_answer import comparison_headline
from deviate.report.topics.comparison_caveats import comparison_caveats, pairing_text
from deviate.report.topics.reasons import reasons

SAME, OTHER, ANEW = ["x"] * 8, ["y"] * 8, list("abcdefgh")


def drawn(*digests, **changes):
    """Two sides whose second is better by far; `digests` are what the runs of each drew under a name."""
    name = changes.pop("name", "shuffle")
    made = zip(sides(shift=6.0), digests, strict=True)
    return [side(each.label, each.samples, prints=prints(*found, name=name), **changes) for each, found in made]


def compare(compared):
    return compare_sides(compared, ComparisonOptions())


@pytest.mark.parametrize(
    ("digests", "shared", "unshared"),
    [
        ((ANEW, ANEW), [], {}),
        ((SAME, SAME), ["shuffle"], {}),
        ((SAME, OTHER), [], {"baseline": ["shuffle"], "proposed": ["shuffle"]}),
        ((SAME, ANEW), [], {"baseline": ["shuffle"]}),
        (([*ANEW[:7], "a"], OTHER), [], {"proposed": ["shuffle"]}),
    ],
    ids=["both vary", "one draw shared", "one draw each", "one draw on one side", "two runs of many are alike"],
)
def test_what_runs_repeat_is_read_off_their_fingerprints(digests, shared, unshared):
    found = repeated_draws(*drawn(*digests))
    assert (found.shared, found.unshared) == (shared, unshared)


def test_beside_an_imported_side_a_repeated_draw_leaves_a_difference_and_nothing_better():
    imported, ran = drawn([], SAME)
    imported = structs.replace(imported, variant=IMPORTED, prints={index: {} for index in range(8)})
    comparison = compare([imported, ran])
    pair = comparison.pairs[0]
    assert (pair.draws.unshared, pair.draws.unknown) == ({}, {"baseline": ["shuffle"]})
    assert {metric.verdict for metric in pair.metrics[:2]} == {"differs"}
    assert comparison_headline(comparison)[0].endswith("; neither is called better.")
    assert any("make proposed with:" in each for each in reasons(pair.metrics[0], pair, comparison))
    with pytest.raises(BadOption, match="what varied in baseline, which was imported, is not known"):
        check_side(imported, ran, GateOptions(drops={"test acc": Drop(1.0)}))


@pytest.mark.parametrize("digests", [(SAME, ANEW), (ANEW, SAME), (SAME, OTHER)])
def test_one_draw_that_is_not_shared_gives_no_verdict_whatever_the_test_says(digests):
    comparison = compare(drawn(*digests))
    pair = comparison.pairs[0]
    assert {metric.verdict for metric in pair.metrics} == {"too few runs"}
    assert {metric.differs for metric in pair.metrics} == {None}
    assert all(metric.p_adjusted < 0.001 for metric in pair.metrics[:2])
    assert comparison_headline(comparison)[0].startswith("No verdict: all runs of")
    assert reasons(pair.metrics[0], pair, comparison)[0].startswith("No verdict: all runs of")
    warned = {caveat.slug: caveat for caveat in comparison_caveats(comparison.comparability)}["draws-repeated"]
    assert warned.severity == "warning"
    assert warned.message.endswith("deviate run --vary everything")


def test_one_draw_that_is_shared_is_said_with_the_verdict():
    comparison = compare(drawn(SAME, SAME, name="data"))
    assert comparison_headline(comparison)[0].startswith("proposed is better than baseline by ")
    assert "draws-shared" in [caveat.slug for caveat in comparison_caveats(comparison.comparability)]


def test_what_several_experiments_share_is_said_once():
    compared = [*drawn(SAME, SAME, name="data"), *drawn(SAME, SAME, name="data")[1:]]
    compared[2] = structs.replace(compared[2], label="third", experiment="third")
    switches = ({"torch.a": on, "torch.b": on} for on in ("True", "False", "False"))
    set_so = [structs.replace(each, environment=part) for each, part in zip(compared, switches, strict=True)]
    said = list(comparison_caveats(compare(set_so).comparability))
    (shared,) = [caveat.message for caveat in said if caveat.slug == "draws-shared"]
    assert shared.startswith("All runs of baseline, proposed and third used the same random numbers for data draws:")
    (differs,) = [caveat.message for caveat in said if caveat.slug == "environment-differs"]
    assert "torch.a and torch.b True in baseline and False in proposed and third." in differs


def test_a_ranking_needs_a_verdict_on_every_two_sides():
    compared = drawn(ANEW, ANEW)
    third = side("third", sides(seed=5)[1].samples, prints=prints(*SAME))
    assert compare([*compared, side("third", third.samples, prints=prints(*ANEW))]).omnibus
    assert compare([*compared, third]).omnibus == []


def test_a_gate_refuses_runs_that_are_one_run():
    options = GateOptions(drops={"test acc": Drop(1.0)})
    with pytest.raises(BadOption, match="all runs of proposed used the same random numbers for data") as refused:
        check_side(*drawn(ANEW, SAME, name="data"), options)
    assert refused.value.hint.endswith("deviate run --vary algo,impl,data")
    assert check_side(*drawn(SAME, SAME, name="data"), options).passed is False


def test_weights_that_were_read_from_a_file_are_no_draw():
    def read(label, draws):
        found = {
            run: {"init": Fingerprint(name="init", digest="w", first="w", count=1, processes=1, ended=1, drawn=draw)}
            for run, draw in enumerate(draws)
        }
        return side(label, [side_metric(values=range(8))], prints=found)

    for draws in (ANEW, [""] * 8):
        assert repeated_draws(read("a", draws), read("b", ANEW)).unshared == {}
    assert repeated_draws(read("a", SAME), read("b", ANEW)).unshared == {"a": ["init"]}


def test_equal_examples_are_one_draw_of_data_however_they_were_drawn():
    def split(label, digest, rows):
        examples = Fingerprint(
            name="examples", digest=digest, first=digest, count=1, processes=1, ended=1, parts={"fit": [*rows]}
        )
        found = {run: {**each, "examples": examples} for run, each in prints(*[digest] * 8, name="data").items()}
        return side(label, [side_metric(values=range(8))], prints=found)

    rows = ["3", "00000001", "00000002", "00000003"]
    assert repeated_draws(split("a", "x", rows), split("b", "y", rows)).shared == ["data"]
    assert repeated_draws(split("a", "x", rows), split("b", "y", [*rows[:3], "00000009"])).unshared != {}


def test_runs_that_all_drew_the_same_are_not_paired_for_that_reason():
    same, other = (pairing_text(pair_runs(*drawn(SAME, digests), "auto")) for digests in (SAME, OTHER))
    assert same.startswith("Runs are not paired: all runs compared used the same random numbers for data order, and no")
    assert other.startswith("Runs are not paired: no fingerprint shows")


def test_a_gpu_on_one_side_alone_is_a_difference():
    gpu, cpu = {"threads": "2", "gpu.names": "A100"}, {"threads": "2", "gpu": "None"}
    first, second = (structs.replace(each, environment=part) for each, part in zip(sides(), (gpu, cpu), strict=True))
    (part,) = compare([first, second]).comparability.environments
    assert (part.name, part.values) == ("gpu.names", {first.label: "A100", second.label: "none"})


def test_runs_of_other_seeds_are_no_pairs():
    def seeded(label, seeds):
        return side(
            label, labels={run: f"seed {seed}" for run, seed in enumerate(seeds)}, prints={run: {} for run in range(3)}
        )

    base, other, same = seeded("base", [0, 1, 2]), seeded("other", [7, 8, 9]), seeded("same", [1, 2, 0])
    assert pair_runs(base, other, "on").pairs == []
    assert pair_runs(base, same, "on").pairs == [(0, 2), (1, 0), (2, 1)]
