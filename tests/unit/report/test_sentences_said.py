"""Sentences of reports that no other test has: each where its condition is met, and not where it is not."""

import pytest
import report_cases as cases
from msgspec import structs

from deviate.facts.proof import Evidence
from deviate.observe.events import EnvironmentDifference, ReachedDraw, TurnedBit
from deviate.observe.fingerprints import Fingerprint
from deviate.observe.identity import Difference, Identity
from deviate.report.topics.proof import evidence_sentences, identity_statement
from deviate.report.topics.reproduce import aggregate_text
from deviate.report.topics.varied import factors_of

TURNED = TurnedBit(tensor="net.0.weight", index="[3, 5]", before="0.5", after="0.50000006")

VALUES = (96.0, 97.0, 98.0, 96.5, 97.5)


def told(variant="algo+impl", values=VALUES, runs=None, identity=None, metric="test acc", **more):
    """Return all that is said of one variant."""
    identities = {"identities": {variant: identity}} if identity else {}
    made = cases.document({variant: {metric: list(values)}}, runs=runs, **identities, **more)
    (facts,) = made.variants
    return made, facts, " ".join(warned.message for warned in made.warnings)


def alike(runs, values=30):
    return Identity(runs=[run.name for run in runs], values=values, classes=[[run.name for run in runs]])


def test_runs_whose_environment_differs_are_not_called_identical():
    differs = EnvironmentDifference(
        name="gpu", values={"A": ["algo+impl-0"], "B": ["algo+impl-1"]}, variant="algo+impl"
    )
    _, _, said = told(differences=[differs])
    assert "They are not identical runs in that respect." in said


def test_draws_of_other_are_not_listed_as_if_they_were_all():
    acts = ReachedDraw(factor="other", call="env.action_space.sample", file="train.py", line=67)
    made, _, said = told(draws=[acts])
    assert "Among the random draws that count as `other`: env.action_space.sample at train.py:67." in said
    assert "**Among the draws of `other`**" in cases.render_markdown(made)


def test_cvs_are_ranked_among_losses_and_resources_alone():
    losses = {"train loss": [1.0, 1.1, 0.9], "test loss": [2.0, 2.01, 1.99], "test acc": [10.0, 90.0, 50.0]}
    (facts,) = cases.document({"algo+impl": losses}).variants
    assert (
        "Of the losses and resources, train loss varies most relative to its mean (CV 10%) and test loss least (CV "
        "0.5%)." in facts.headline
    )


def test_equal_cvs_are_not_ranked():
    losses = {"train loss": [1.0, 1.22, 0.78], "test loss": [2.0, 2.442, 1.558], "test acc": [10.0, 90.0, 50.0]}
    (facts,) = cases.document({"algo+impl": losses}).variants
    assert "Of the losses and resources" not in " ".join(facts.headline)


def test_one_of_several_runs_with_a_value_and_times_that_are_equal():
    runs = cases.completed("algo+impl", 3, seconds=[2.0, 2.0, 2.0])
    _, facts, _ = told(values=[96.0, None, None], runs=runs)
    assert facts.headline[0].startswith("test acc 96 (one of 3 runs, best).")
    assert "Every run took 2 s." in facts.headline
    assert "A run took" in " ".join(told()[1].headline)


def test_without_a_direction_no_run_is_the_best():
    plain = cases.metric("x", direction=None, kind="quality")
    _, facts, _ = told(metric="x", metrics=[plain])
    assert "The highest and the lowest run differ by" in facts.headline[0]
    assert "The best and the worst run differ by" in told()[1].headline[0]


def test_what_a_checklist_captures_is_without_what_fingerprints_show_to_be_the_same():
    def captured(runs):
        made, _, _ = told("init,shuffle", runs=runs)
        return next(each.answer for each in made.checklist if each.question.startswith("Which factors"))

    drawn = [structs.replace(run, variant="init,shuffle") for run in cases.proven("algo", 5)]
    assert captured(drawn) == "Varied between runs: initialisation and data order."
    pinned = [structs.replace(run, prints={**run.prints, "init": drawn[0].prints["init"]}) for run in drawn]
    assert captured(pinned) == "Varied between runs: data order."


def test_what_is_not_drawn_for_or_not_varied_is_said_of_the_variant():
    _, facts, _ = told("algo+impl", runs=[structs.replace(run, threads=1) for run in cases.proven("algo+impl", 5)])
    unseen = "No draw was counted under: augmentation, other draws of the training."
    assert unseen in factors_of(facts.facts).caveats
    assert "Sets of strings have another order in each run (PYTHONHASHSEED)." in factors_of(facts.facts).caveats
    facts = structs.replace(
        facts.facts, evidence=[structs.replace(facts.facts.evidence[0], found="unknown", groups=[])]
    )
    unwatched = "Lines that can draw ran unwatched, so that nothing is known of it: initialisation."
    assert unwatched in factors_of(facts).caveats
    assert "initialisation" not in factors_of(facts).varied
    _, facts, _ = told("impl", runs=[structs.replace(run, threads=1) for run in cases.proven("impl", 5)])
    assert (
        "With pinned threads and no GPU, nothing of the implementation was varied." in factors_of(facts.facts).caveats
    )


def test_runs_as_they_are_and_variants_of_other_versions():
    _, facts, said = told("as-is", values=(97.0,) * 5)
    factors = factors_of(facts.facts)
    assert factors.varied == ["whatever the program leaves to chance"]
    assert factors.caveats[0].startswith("The program's own seeds were left alone: where it seeds itself, runs repeat")
    assert (
        "Deviate did not look at their random numbers; --vary everything shows what other seeds would change." in said
    )
    unknown = structs.replace(facts.facts, variant="other-version")
    assert factors_of(unknown).caveats == ["The variant other-version is not known to this version."]
    samples = {"as-is": {"test acc": [97.0] * 3, "test loss": [0.1, 0.2, 0.3]}}
    coarse = " ".join(warned.message for warned in cases.document(samples).warnings)
    assert "They may be too coarse to show a difference, or depend on nothing that is drawn." in coarse


def test_weights_that_differ_where_values_do_not():
    runs = cases.proven("control", 2, weights="other")
    _, facts, said = told("control", values=(97.0, 97.0), runs=runs, identity=alike(runs))
    assert (
        identity_statement(facts.facts)
        == "2 runs bit-identical in 30 recorded values, yet with 2 different final weights."
    )
    assert "Everything was held fixed, yet the final weights differ between runs." in said


def test_equal_runs_of_each_kind_have_a_reason_of_their_own():
    equal = (97.0,) * 3
    runs = [structs.replace(run, prints={}) for run in cases.completed("platform", 3)]
    assert "No emulated processor changed anything that is reported." in told("platform", equal, runs)[2]
    pinned = [structs.replace(run, prints=cases.prints("init", 0)) for run in cases.completed("init", 3)]
    assert "No draw was seen that varies between them." in told("init", equal, pinned)[2]
    turned = [structs.replace(run, bit=TURNED) for run in cases.completed("bit", 3)]
    assert "One unit in the last place of one weight changed nothing that is reported." in told("bit", equal, turned)[2]
    assert "No draw was seen that varies between them." in told("other", equal, cases.completed("other", 3))[2]
    assert "All 3 runs are bit-identical in every metric, time aside." in told("init", equal, pinned)[2]


def test_equal_metrics_of_runs_that_differ_on_the_way():
    runs = cases.proven("init", 2)
    first = Difference(run="init-1", other="init-0", metric="test acc", iteration=0, value=0.5, other_value=0.25)
    parted = Identity(runs=["init-0", "init-1"], values=9, differences=[first], classes=[["init-0"], ["init-1"]])
    said = told("init", (97.0, 97.0), runs, parted)[2]
    assert (
        "Both runs have the same value of every metric, time aside, yet these runs differ: the first difference" in said
    )


def test_other_data_other_content_and_other_numbers_of_draws_are_leaks_with_their_names():
    def examples(digest):
        return Fingerprint(name="examples", digest=digest, first=digest, count=1, processes=1, ended=1,
                           parts={"training": [digest]})  # fmt: skip

    runs = cases.proven("control", 2)
    apart = [structs.replace(run, prints={**run.prints, "examples": examples(str(run.index))}) for run in runs]
    said = told("control", (97.0, 96.0), apart)[2]
    assert "Data were to be held fixed, yet runs trained or were evaluated on different examples" in said
    leaked = told("control", (97.0, 96.0), cases.proven("control", 2, batches="other"))[2]
    assert "the first batches was to be held fixed, yet differs between runs: control-0 | control-1." in leaked
    longer = structs.replace(runs[1].prints["shuffle"], digest="longer", first="other", count=99)
    more = [runs[0], structs.replace(runs[1], prints={**runs[1].prints, "shuffle": longer})]
    assert "Some runs drew more often than others." in told("control", (97.0, 96.0), more)[2]
    repeats = told("init", (97.0, 96.0, 95.0), cases.proven("init", 3, init="init-0"))[2]
    assert "randomness of initialisation was to vary, yet some runs drew the same: init-0 and init-2." in repeats


def test_a_weight_that_was_not_changed_is_no_disturbance():
    said = told("bit", (97.0, 97.0), cases.completed("bit", 2))[2]
    assert (
        "No weight was changed: no framework showed the model's weights; whether these runs are equal is not known."
        in said
    )


def test_what_fingerprints_show_of_runs_as_they_are():
    def each(name, found, meant="left"):
        return Evidence(name=name, meant=meant, found=found, broken=False, groups=[], unequal=False)

    _, facts, _ = told("as-is")
    evidence = [each("init", "varied"), each("shuffle", "identical"), each("layers", "unknown")]
    assert evidence_sentences(structs.replace(facts.facts, evidence=evidence)) == [
        "By fingerprints of 5 runs: As it is, varied: initialisation. As it is, the same: data order. "
        "Unknown: stochastic layers."
    ]


@pytest.mark.parametrize(
    ("aggregate", "text"),
    [("last", "the last value reported"), ("best", "the best value of all iterations"),
     ("mean", "the mean over all values reported"), ("max", "the largest value of all iterations"),
     ("min", "the smallest value of all iterations"), ("at 9", "the value at iteration 9 (counted from 0)"),
     ("area", "the mean height of the learning curve (area under it by the trapezium rule, divided by its length)")],
)  # fmt: skip
def test_an_aggregate_has_its_words(aggregate, text):
    assert aggregate_text(aggregate) == text


def test_no_platform_twice_is_said_to_show_nothing_of_repetition():
    runs = [structs.replace(run, platform=f"p{run.index}") for run in cases.completed("platform", 2)]
    apart = Identity(runs=[run.name for run in runs], values=3, classes=[[run.name] for run in runs])
    _, facts, _ = told("platform", (97.0, 96.0), runs, apart)
    assert identity_statement(facts.facts).endswith("No platform ran twice; more runs (-n) show whether one repeats.")
