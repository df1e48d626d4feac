"""Fingerprints against what a variant promises: what varied, what was held, what was broken."""

import pytest
import report_cases as cases
from msgspec import structs

from deviate.core.factors import OBSERVED, VARIANTS, parse_variant
from deviate.facts.proof import Evidence, VariantProof, evidence_of
from deviate.observe.events import EnvironmentDifference, TurnedBit
from deviate.observe.fingerprints import Fingerprint
from deviate.observe.identity import Difference, Identity
from deviate.report.topics.headline import varied_text
from deviate.report.topics.proof import NO_NOISE
from deviate.report.topics.varied import factors_of, varied_statement
from deviate.report.words import disturbed


def document(variant, runs, identity=None, values=(0.1, 0.2, 0.3)):
    samples = {variant: {"test acc": list(values)}}
    return cases.document(samples, runs=runs, identities={variant: identity} if identity else {})


def remarks(document):
    return {warned.slug: warned for warned in document.warnings}


def found(variant, runs):
    return {each.name: each for each in evidence_of(parse_variant(variant), runs)}


@pytest.mark.parametrize("variant", ["algo+impl", "algo", "impl", "control", "init", "shuffle", "layers", "data"])
def test_a_kept_promise_is_no_warning(variant):
    said = remarks(document(variant, cases.proven(variant, 3)))
    assert not {"factor-leaked", "factor-pinned", "factor-repeats", "factor-absent", "no-fingerprint"} & set(said)


def test_what_varied_and_was_held_is_told_by_name():
    (variant,) = document("init", cases.proven("init", 3)).variants
    assert variant.proven == [
        "By fingerprints of 3 runs: Varied: initialisation. Held: data order, stochastic layers, data draws."
    ]
    evidence = {each.name: (each.meant, each.found) for each in variant.evidence}
    assert evidence["init"] == ("varies", "varied")
    assert evidence["layers"] == ("held", "identical")
    assert evidence["batches"] == ("held", "identical")
    assert evidence["weights"] == ("follows", "varied")


def test_a_held_factor_that_differs_is_a_warning_with_the_runs():
    said = remarks(document("shuffle", cases.proven("shuffle", 3, layers="other")))
    assert said["factor-leaked"].severity == "warning"
    assert "randomness of stochastic layers was to be held fixed" in said["factor-leaked"].message
    assert "shuffle-0 and shuffle-1 | shuffle-2" in said["factor-leaked"].message


def test_what_was_not_held_is_not_listed_as_held():
    kept, leaked = (
        document("control", cases.proven("control", 3, **changes), identity).variants[0]
        for changes, identity in [({}, None), ({"layers": "other"}, parted("control"))]
    )
    assert varied_text(kept.facts).endswith("Fixed: initialisation, data order, stochastic layers, data draws.")
    assert varied_text(leaked.facts).endswith("Fixed: initialisation, data order, data draws.")
    assert {*factors_of(kept.facts).held} - {*factors_of(leaked.facts).held} == {
        "stochastic layers", "implementation (kernels, order of parallel sums)"
    }  # fmt: skip


def with_examples(variant, *sets):
    """Return completed runs that had these sets of examples."""
    return [
        structs.replace(run, prints={**run.prints, "examples": examples(rows)})
        for run, rows in zip(cases.proven(variant, len(sets)), sets, strict=True)
    ]


def examples(rows):
    digest = "-".join(rows)
    parts = {"training": sorted(rows)}
    return Fingerprint(name="examples", digest=digest, first=digest, count=1, processes=1, ended=1, parts=parts)


def test_runs_on_other_data_are_not_called_identical():
    runs = with_examples("algo+impl", "abcd", "abcd", "efgh")
    said = document("algo+impl", runs)
    (variant,) = said.variants
    assert variant.headline[0] == (
        "These are not identical runs: the 3 runs of algo+impl had 2 different sets of examples."
    )
    assert not any("held fixed" in sentence for sentence in variant.headline)
    assert "algo+impl-0 and algo+impl-1 | algo+impl-2" in remarks(said)["data-differ"].message


def test_examples_that_may_follow_from_what_else_is_drawn_are_no_other_data():
    """What an agent meets in its one rollout follows from its actions, whatever data are held."""
    runs = [
        structs.replace(run, prints={**run.prints, "other": examples(rows)})
        for run, rows in zip(with_examples("algo+impl", "abcd", "efgh"), "xy", strict=True)
    ]
    said = document("algo+impl", runs)
    assert not any("not identical" in sentence for sentence in said.variants[0].headline)
    assert "data-differ" not in remarks(said)


@pytest.mark.parametrize(("variant", "sets"), [("algo+impl", ["abcd"] * 3), ("data", ["abcd", "efgh", "ijkl"])])
def test_of_runs_on_the_data_that_were_promised_what_varied_is_said(variant, sets):
    said = document(variant, with_examples(variant, *sets))
    assert varied_statement(said.facts.variants[0]) in said.variants[0].headline
    assert "data-differ" not in remarks(said)


PINNED = "Kernels can have no effect: pinned threads, no GPU."


@pytest.mark.parametrize(
    ("variant", "noiseless", "said"),
    [
        ("algo+impl", False, "Seeds and the implementation varied; the files it reads were held fixed."),
        ("algo+impl", True, f"Seeds varied; the files it reads were held fixed. {PINNED}"),
        ("algo", False, "Seeds varied; the files it reads and the implementation were held fixed."),
        ("impl", False, "Only the implementation varied."),
        ("impl", True, PINNED),
        ("init,shuffle", False, "Only the initialisation and the data order varied."),
        ("layers,other,data", False, "Only the stochastic layers, other random draws and the data varied."),
        ("augment", False, "No draw was counted for what was to vary."),
        ("control", False, "Everything was held fixed."),
        ("as-is", False, "The program's own seeds were left as they are."),
        ("imported", False, "What varied between these runs is not known."),
        ("bit", False, "Everything was held fixed but one unit in the last place of one initial weight."),
    ],
)  # fmt: skip
def test_what_varied_is_said_of_every_variant(variant, noiseless, said):
    drawn = [Evidence(name="init", meant="varies", found="varied", groups=[])]
    known = {"runs": [], "evidence": drawn, "files_known": True}
    proof = VariantProof(variant=variant, planned=2, completed=2, absent=["augment"], without_noise=noiseless, **known)
    assert varied_statement(proof) == said


def test_seeds_of_the_program_and_draws_for_the_data_are_named():
    data = Evidence(name="data", meant="held", found="identical", groups=[])
    known = {"runs": [], "evidence": [data], "files_known": True}
    proof = VariantProof(variant="algo", planned=2, completed=2, **known)
    assert varied_statement(proof) == (
        "Seeds varied; the files it reads, the draws that count as data and the implementation were held fixed."
    )
    varied = VariantProof(variant="algo,impl,data", planned=2, completed=2, runs=[], evidence=[data])
    assert varied_statement(varied) == "Seeds, the data and the implementation varied."


@pytest.mark.parametrize(
    ("rows", "drawn", "is_broken"), [("efgh", "d1", False), ("abcd", "d1", True), ("efgh", "d2", True)]
)
def test_an_order_of_other_examples_breaks_no_promise_of_its_own(rows, drawn, is_broken):
    first, second = with_examples("other", "abcd", rows)
    shuffles = [
        structs.replace(run.prints["shuffle"], digest=f"order {i}", drawn=["d1", drawn][i])
        for i, run in enumerate((first, second))
    ]
    runs = [
        structs.replace(r, prints={**r.prints, "shuffle": s}) for r, s in zip((first, second), shuffles, strict=True)
    ]
    evidence = found("other", runs)
    assert evidence["shuffle"].broken is is_broken
    assert evidence["examples"].broken is (rows != "abcd")


def test_the_first_input_follows_from_what_makes_it():
    def is_broken(variant):
        runs = [
            structs.replace(run, prints={**cases.prints(variant, run.index, input=f"input-{run.index}"), **shown})
            for run in cases.completed(variant, 3)
        ]
        return found(variant, runs)["input"].broken

    variants = ("control", "init", "layers", "impl", "shuffle", "augment", "other", "data", "algo+impl")
    shown = {"examples": examples("abcd")}
    assert list(filter(is_broken, variants)) == ["control", "init", "layers", "impl"]
    # A buffer of what an agent met follows from its weights.
    shown = {}
    assert list(filter(is_broken, variants)) == ["control"]


def test_a_run_that_drew_more_often_is_compared_by_its_first_draws():
    runs = cases.proven("init", 2)
    longer = structs.replace(runs[1].prints["shuffle"], digest="longer", count=99)
    runs[1] = structs.replace(runs[1], prints={**runs[1].prints, "shuffle": longer})
    assert found("init", runs)["shuffle"].found == "identical"
    assert found("init", runs)["shuffle"].unequal
    assert not found("init", runs)["shuffle"].broken


def test_a_factor_that_was_to_vary_and_did_not_is_pinned():
    runs = [structs.replace(run, prints=cases.prints("init", 0)) for run in cases.completed("init", 3)]
    said = remarks(document("init", runs))
    assert "randomness of initialisation was to vary, yet all runs drew the same" in said["factor-pinned"].message


def test_two_runs_that_drew_the_same_are_named():
    runs = cases.proven("init", 3, init="init-0")
    assert "init-0 and init-2" in remarks(document("init", runs))["factor-repeats"].message


def test_a_factor_that_is_not_there_is_said_and_warned_of_where_it_alone_was_to_vary():
    runs, values = cases.proven("augment", 3), (0.5, 0.5, 0.5)
    same = Identity(runs=[run.name for run in runs], values=30, classes=[[run.name for run in runs]])
    said = remarks(document("augment", runs, same, values))
    assert "these runs are bit-identical in every recorded value" in said["factor-absent"].message
    assert "runs-identical" not in said
    unknown = remarks(document("augment", runs, values=values))["factor-absent"].message
    assert "whether these runs are equal is not known" in unknown
    assert "factor-absent" not in remarks(document("algo", cases.proven("algo", 3)))


@pytest.mark.parametrize("factor", ["augment", "other"])
def test_runs_that_differ_though_nothing_was_drawn_have_an_unseen_cause(factor):
    runs = cases.proven(factor, 2)
    first = Difference(run=runs[1].name, other=runs[0].name, metric="loss", iteration=3, value=0.5, other_value=0.25)
    names = [run.name for run in runs]
    parted = Identity(runs=names, values=30, differences=[first], classes=[[name] for name in names])
    said = remarks(document(factor, runs, parted, (0.5, 0.25)))
    assert "factor-absent" not in said
    message = said["unseen-cause"].message
    assert "yet these runs differ: the first difference: loss in the 4th iteration: 0.5" in message
    assert ("PYTHONHASHSEED" in message) == (factor == "other")


def test_equal_values_after_other_draws_are_no_pinned_seed():
    said = remarks(document("init", cases.proven("init", 3), values=(0.5, 0.5, 0.5)))["runs-identical"]
    assert "What they drew differs, as fingerprints show" in said.message
    assert said.severity == "note"


def with_content(runs, name, *drawn):
    """Return runs with equal content under `name`, which was made with these draws."""
    first = runs[0].prints[name]
    return [
        structs.replace(run, prints={**run.prints, name: structs.replace(first, drawn=each)})
        for run, each in zip(runs, drawn, strict=True)
    ]


def test_content_that_nothing_is_drawn_for_is_not_present():
    runs = with_content(cases.proven("init", 2), "init", "", "")
    assert (found("init", runs)["init"].found, found("init", runs)["init"].broken) == ("absent", False)
    assert "factor-pinned" not in remarks(document("init", runs, values=(0.5, 0.5)))


def test_weights_that_take_the_place_of_those_that_were_drawn_break_no_promise():
    runs = with_content(cases.proven("init", 2), "init", "1", "2")
    assert (found("init", runs)["init"].found, found("init", runs)["init"].broken) == ("identical", False)
    pinned = with_content(cases.proven("init", 2), "init", "1", "1")
    assert found("init", pinned)["init"].broken


def test_an_equal_metric_is_no_pinned_seed_where_other_numbers_were_drawn():
    samples = {"init": {"test acc": [0.5, 0.5, 0.5], "test loss": [0.1, 0.2, 0.3]}}
    said = remarks(cases.document(samples, runs=cases.proven("init", 3)))["metric-identical"].message
    assert "other numbers were drawn" in said
    assert "pinned" not in said


def test_runs_that_end_alike_and_differ_on_the_way_are_not_bit_identical():
    runs = cases.proven("init", 2)
    first = Difference(run="init-1", other="init-0", metric="test acc", iteration=0, value=0.5, other_value=0.25)
    parted = Identity(runs=["init-0", "init-1"], values=9, differences=[first], classes=[["init-0"], ["init-1"]])
    said = remarks(document("init", runs, parted, (0.5, 0.5)))
    assert "runs-identical" not in said
    assert (
        "yet these runs differ: the first difference: test acc in the 1st iteration" in said["metric-identical"].message
    )


def test_batches_that_follow_from_the_weights_break_no_promise():
    runs = cases.proven("init", 2)
    other = structs.replace(runs[1].prints["batches"], digest="other", first="other")
    runs[1] = structs.replace(runs[1], prints={**runs[1].prints, "batches": other})
    assert (found("init", runs)["batches"].found, found("init", runs)["batches"].broken) == ("varied", False)
    runs = cases.proven("control", 2)
    runs[1] = structs.replace(runs[1], prints={**runs[1].prints, "batches": other})
    assert found("control", runs)["batches"].broken


def test_two_factors_of_which_one_is_there_are_not_absent():
    runs = [structs.replace(run, variant="init,augment") for run in cases.proven("init", 3)]
    assert "factor-absent" not in remarks(document("init,augment", runs))


def test_without_fingerprints_nothing_is_proven_and_that_is_said():
    said = remarks(document("algo", cases.completed("algo", 3)))
    assert said["no-fingerprint"].severity == "note"
    assert "no-fingerprint" not in remarks(document("as-is", cases.completed("as-is", 3)))
    # Runs that were watched to their end and are alike drew nothing.
    watched = [structs.replace(run, watched=True) for run in cases.completed("algo", 3)]
    assert {each.found for each in evidence_of(parse_variant("algo"), watched, alike=True)} == {"absent"}
    assert evidence_of(parse_variant("algo"), watched) == []


@pytest.mark.parametrize("variant", ["platform", "bit"])
def test_initial_weights_may_differ_where_they_are_disturbed(variant):
    runs = cases.proven(variant, 2, init="rounded otherwise", weights="other")
    assert not any(each.broken for each in found(variant, runs).values())
    runs = cases.proven(variant, 2, layers="leaked")
    assert found(variant, runs)["layers"].broken


def test_the_program_as_it_is_promises_nothing():
    runs = cases.proven("algo", 2)
    assert {each.meant for each in evidence_of(OBSERVED, runs)} == {"left"}
    assert evidence_of(None, runs) == []


# What was bit-identical


def same(variant, n=3, values=240):
    names = [f"{variant}-{index}" for index in range(n)]
    return Identity(runs=names, values=values, classes=[names])


def parted(variant, iteration=4, **changes):
    names = [f"{variant}-{index}" for index in range(3)]
    fields = {"metric": "test acc", "iteration": iteration, "value": 0.5, "other_value": 0.25, **changes}
    difference = Difference(run=names[2], other=names[0], **fields)
    return Identity(runs=names, values=240, differences=[difference], classes=[names[:2], names[2:]])


def statement(variant, identity, runs=None):
    (report,) = document(variant, runs or cases.proven(variant, 3), identity).variants
    return report.statement


def test_control_is_bit_identical_in_its_values_and_final_weights():
    assert statement("control", same("control")) == ("3 runs bit-identical in 240 recorded values and final weights.")
    assert "their final weights were not seen" in statement("control", same("control"), cases.completed("control", 3))


def test_no_seed_is_suspected_of_a_metric_that_is_constant():
    samples = {"algo+impl": {"test acc": [0.1, 0.2, 0.3], "memory": [0.0, 0.0, 0.0]}}
    said = remarks(cases.document(samples, runs=cases.proven("algo+impl", 3)))["metric-identical"].message
    assert "What varies does not reach them, or they are too coarse" in said


def test_runs_without_a_value_are_not_called_identical():
    assert statement("control", same("control", values=0)) == "3 runs recorded no value that could be compared."


def test_the_first_record_that_differs_is_told_with_both_values():
    assert statement("control", parted("control")) == (
        "3 runs with 2 different results; the first difference: test acc in the 5th iteration: 0.5 in "
        "control-2, 0.25 in control-0."
    )
    assert "before the main loop" in statement("control", parted("control", iteration=-1))
    unplaced = parted("control", iteration=-1, placed=False)
    assert "; one difference: test acc: 0.5 in control-2" in statement("control", unplaced)
    assert statement("init", parted("init", iteration=-1, placed=False)) == "3 runs with 2 different results."
    ended = statement("control", parted("control", value=None))
    assert "which control-0 reports and control-2 does not" in ended


def test_equal_values_and_other_final_weights_are_not_called_identical():
    runs = cases.proven("control", 3, weights="other")
    assert "yet with 2 different final weights" in statement("control", same("control"), runs)
    (warned,) = [
        each for each in document("control", runs, values=(0.5,) * 3).warnings if each.slug == "control-differs"
    ]
    assert "the final weights differ" in warned.message


def test_where_draws_vary_the_place_is_told_and_not_the_values():
    assert statement("init", parted("init")).endswith("results, first in the 5th iteration (test acc).")
    # Where nothing was reported before, they may have differed from the beginning.
    assert statement("init", parted("init", opening=True)).endswith("first in their first values (test acc).")


def test_impl_without_a_gpu_has_no_noise():
    assert statement("impl", same("impl")).endswith(NO_NOISE)
    on_gpu = [structs.replace(run, has_gpu=True) for run in cases.proven("impl", 3)]
    assert NO_NOISE not in statement("impl", same("impl"), on_gpu)
    unpinned = [structs.replace(run, threads=None) for run in cases.proven("impl", 3)]
    assert NO_NOISE not in statement("impl", same("impl"), unpinned)
    assert NO_NOISE not in statement("impl", parted("impl"))


def on_platforms(*platforms):
    return [
        structs.replace(run, platform=platform)
        for run, platform in zip(cases.proven("platform", len(platforms)), platforms, strict=True)
    ]


def test_platforms_are_said_to_repeat_themselves_or_not():
    runs = on_platforms("AVX2", "AVX", "AVX2")
    names = [run.name for run in runs]
    repeating = Identity(runs=names, values=8, classes=[[names[0], names[2]], [names[1]]])
    assert "2 platforms, 2 different results." in statement("platform", repeating, runs)
    assert "are bit-identical (1 platform ran more than once)" in statement("platform", repeating, runs)
    wavering = Identity(runs=names, values=8, classes=[[names[0]], [names[1]], [names[2]]])
    assert "Runs on the same platform differ: AVX2." in statement("platform", wavering, runs)
    once = Identity(runs=names, values=8, classes=[[names[0]], [names[1]], [names[2]]])
    assert "No platform ran twice" in statement("platform", once, on_platforms("AVX2", "AVX", "SSE"))


def test_one_run_shares_nothing():
    assert statement("control", None) == ""


# By what varies


def test_spread_is_told_by_variant_with_its_share_of_the_whole():
    across = cases.sources().across
    assert {table.metric for table in across} == {"test acc", "train loss"}
    rows = {row.variant: row for row in across[0].rows}
    assert rows["algo+impl"].relative == 1
    assert rows["control"].relative == 0
    assert rows["init"].relative == pytest.approx(rows["init"].sd / rows["algo+impl"].sd)


def test_without_the_whole_there_are_no_shares():
    found = cases.document({name: {"test acc": [0.1, 0.2]} for name in ("init", "control")})
    assert [row.relative for row in found.across[0].rows] == [None, None]
    assert found.across_notes == []
    assert cases.usual().across == []


def test_what_was_left_to_other_and_what_warned_is_said_with_its_place():
    said = remarks(cases.sources())
    assert "numpy.random.rand at noise.py:3" in said["draws-left"].message
    assert "scatter_add_cuda_kernel (control-0)" in said["operation-not-deterministic"].message


def test_every_named_variant_has_a_gloss():
    glosses = {name: cases.document({name: {}}).variants[0].factors.gloss for name in VARIANTS}
    assert len(set(glosses.values())) == len(VARIANTS)
    assert glosses["algo"] == "everything varies but the data and the implementation"
    assert glosses["bit"] == "everything held but one unit in the last place of one initial weight"
    named = "init,shuffle,augment,layers,other,data,impl"
    assert cases.document({named: {}}).variants[0].factors.gloss == "everything varies"


TURNED = TurnedBit(tensor="net.0.weight", index="[3, 5]", before="0.5", after="0.50000006")


def test_the_weight_that_was_changed_is_told_and_missed_where_there_is_none():
    runs = [structs.replace(run, bit=TURNED) for run in cases.proven("bit", 2)]
    told = document("bit", runs, values=(0.5, 0.5))
    assert disturbed(told.variants[0].runs[0]) == "with net.0.weight[3, 5] 0.50000006 for 0.5"
    assert "bit-not-turned" not in remarks(told)
    assert "changed nothing that is reported" in remarks(told)["runs-identical"].message
    assert "0.50000006 for 0.5: bit-0 and bit-1" in cases.render_terminal(told, 100)
    missed = remarks(document("bit", cases.proven("bit", 2), values=(0.5, 0.5)))
    assert missed["bit-not-turned"].severity == "warning"
    assert "runs-identical" not in missed


def test_of_other_draws_that_were_not_seen_nothing_is_said():
    alike = Identity(runs=["other-0", "other-1"], values=9, differences=[], classes=[["other-0", "other-1"]])
    unseen = document("other", cases.completed("other", 2), alike, values=(0.5, 0.5))
    assert "No draw was seen" in remarks(unseen)["runs-identical"].message


def broken(*differences):
    """Return runs that were held fixed and of which the second differs."""
    classes = [["control-0", "control-2"], ["control-1"]]
    identity = structs.replace(parted("control"), classes=classes)
    samples = {"control": {"test acc": [0.5, 0.6, 0.5]}, "init": {"test acc": [0.1, 0.2, 0.3]}}
    runs = [*cases.proven("control", 3), *cases.proven("init", 3)]
    return cases.document(samples, runs=runs, identities={"control": identity}, differences=list(differences))


def differs(name, **values):
    runs = {value: [f"control-{index}" for index in indices] for value, indices in values.items()}
    return EnvironmentDifference(name=name, variant="control", values=runs)


BROKEN = "Everything was held fixed, yet 1 of 1 metric differs between runs: test acc."


def test_a_broken_control_comes_before_any_number():
    said = broken()
    headline = said.variants[0].headline
    assert headline[:2] == [
        BROKEN,
        "The implementation is not deterministic, or something draws without a seed: `deviate audit` looks for the "
        "cause.",
    ]
    assert "Everything was held fixed." not in headline
    first = " ".join(cases.render_screen(said).split("what varied")[0].split())
    assert "nothing (control): Everything was held fixed, yet" in first
    assert "stands out" not in first
    assert "explain" not in first


def test_what_differs_between_the_very_runs_is_named_first():
    headline = broken(differs("cpu", a=[0], b=[1, 2]), differs("threads", two=[0, 2], one=[1])).variants[0].headline
    assert headline[1] == (
        "These runs differ in threads, too: two (control-0 and control-2) and one (control-1); runs that agree in it "
        "are equal. They also differ in cpu."
    )
    assert not any("without a seed" in sentence for sentence in headline)
    (said,) = (each for each in broken(differs("cpu", a=[0], b=[1, 2])).warnings if each.slug == "control-differs")
    assert said.message == f"{BROKEN} These runs differ in cpu, too: a (control-0) and b (control-1 and control-2)."
