"""What is said for a paper is what the document knows, and nothing else."""

import math

import msgspec
import pytest
import report_cases as cases

from deviate.core.experiment import Imported, Step
from deviate.facts.predictions import EvaluationResult
from deviate.facts.samples import Bar, SampleOptions
from deviate.facts.stability import evaluation_facts
from deviate.report.topics.checklist import checklist
from deviate.report.topics.experiment import experiment_page
from deviate.report.topics.reproduce import environment_text, methods

DIGITS = {"train loss": [0.1, 0.2], "test acc": [97.0, 98.0]}
TIME = "How long does a run take, and all of them?"
ALL = pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES)


def said(document):
    return " ".join(document.methods)


def answers(document):
    return {answer.question: answer for answer in document.checklist}


@ALL
def test_every_document_has_sentences_and_every_question_an_answer(case):
    document = case()
    assert all(sentence.endswith(".") for sentence in document.methods)
    assert all(answer.answer and answer.asked_by for answer in document.checklist)
    assert all(answer.known == (answer.answer != "Not known to Deviate.") for answer in document.checklist)


def test_numbers_of_runs_are_those_of_the_runs():
    assert "was run 8 times with Deviate 0.1.0. All runs completed." in said(cases.usual())
    text = said(cases.troubled())
    assert "was planned to be run 12 times with Deviate 0.1.0 under 2 conditions" in text
    assert "called algo+impl (6 runs) and control (6 runs)" in text
    assert "Of 12 runs, 6 completed and enter the statistics; 1 failed, 1 timed out and 4 were not run." in text
    assert "was planned to be run 4 times" in said(cases.not_started())
    assert "Of 2 runs, none completed; 2 failed." in said(cases.none_completed())
    assert "was run once with Deviate 0.1.0. It completed. We report one value" in said(cases.single())
    assert answers(cases.single())[TIME].answer == "Time per run: 3 s. 1 run was timed: 3.0 s."


def test_times_are_told_whichever_metrics_are_shown():
    made = cases.results({"algo+impl": DIGITS})
    whole, part = cases.said(made), cases.said(made, chosen=["test acc"])
    assert [metric.name for metric in part.variants[0].metrics] == ["test acc"]
    assert answers(part)[TIME].answer == answers(whole)[TIME].answer
    assert answers(part)[TIME].known


def test_aggregates_and_intervals_are_named_only_where_they_were_used():
    text = said(cases.usual())
    assert "the best value of all iterations for test acc; the last value reported for train loss and test loss" in text
    assert "95% confidence intervals" in text
    # No table shows them: they are in the JSON report alone.
    assert "bootstrap" not in f"{text} {answers(cases.usual())}".lower()
    assert "confidence interval" not in said(cases.single())


def test_a_promise_that_fingerprints_break_is_told():
    text = said(cases.sources())
    assert "ended with) show otherwise in shuffle for the stochastic layers." in text


def test_what_varied_is_a_sentence_of_its_own_for_each_condition():
    assert (
        "Between the runs, the initialisation, data order, augmentation, stochastic layers and "
        "other draws of the training varied on purpose; the draws that count as data, command, source and data files "
        "and number of threads (1) stayed the same."
    ) in said(cases.usual())
    text = said(cases.sources())
    assert "; between those of init, only the initialisation;" in text
    assert "; between those of control, nothing." in text
    assert "stayed the same in all of these runs." in text
    assert "What varied between the runs is not known." in said(cases.document({"of a later version": DIGITS}))
    assert "Nothing was controlled in the runs: the program's own" in said(cases.document({"as-is": DIGITS}))


def test_metrics_are_all_named_or_all_the_others():
    names = [f"acc {k}" for k in range(9)]
    text = said(cases.document({"algo+impl": {name: [1.0, 2.0] for name in [*names, "loss a", "loss b"]}}))
    assert "for acc 0, acc 1, acc 2, acc 3, acc 4, acc 5, acc 6, acc 7 and acc 8; the last" in text
    assert "the last value reported for all 100 metrics." in said(
        cases.document({"algo+impl": {f"loss {k}": [1.0, 2.0] for k in range(100)}})
    )
    many = {"test acc": [1.0, 2.0], **{f"loss {k}": [1.0, 2.0] for k in range(12)}}
    text = said(cases.document({"algo+impl": many}))
    assert "iterations for test acc; the last value reported for all other metrics." in text
    assert " more" not in text


def test_what_only_the_authors_know_is_unknown():
    found = answers(cases.usual())
    assert not found["How were hyper-parameters chosen?"].known
    assert not found["Which machines were used?"].known
    assert found["Which software does it depend on?"].answer == "Python 3.11.7."
    assert not answers(cases.single())["Are there error bars, and of what?"].known


def test_times_and_left_out_runs_are_those_of_the_document():
    found = answers(cases.troubled())
    left = found["Which runs were left out, and why?"].answer
    assert left.startswith("The run failed (run 4); the run timed out (run 5);")
    assert "the value is NaN, in train loss (algo+impl-2)" in left
    total = sum(run.seconds for variant in cases.troubled().variants for run in variant.runs)
    sums = f"The durations of 8 runs add up to {total:.1f} s, those of runs that did not complete included."
    assert sums in found[TIME].answer
    assert answers(cases.usual())["Which runs were left out, and why?"].answer == "None."


def test_of_imported_results_nothing_is_claimed():
    made = cases.results({"imported": {"test acc": [1.0, 2.0]}})
    source = Imported(format="csv", sources=["r.csv"], labels={"0": "a", "1": "b"})
    experiment = msgspec.structs.replace(made.experiment, imported=source)
    document = cases.said(msgspec.structs.replace(made, experiment=experiment))
    text = said(document)
    assert "Results of 2 runs were imported (csv); Deviate did not run them." in text
    assert "What varied between the imported runs is not known." in text
    assert "held" not in text.replace("sources that were held fixed", "")
    assert not answers(document)["Which factors of variability do they capture?"].known
    assert not answers(document)["Which code was run, and with which command?"].known


def test_absent_parts_of_an_environment_are_left_away():
    assert environment_text(
        {"gpu": "None", "cpu": "", "cores": "2"}, {"gpu": "GPU", "cpu": "CPU", "cores": "cores"}
    ) == ("cores 2")


def test_weak_runs_are_told_once_with_the_rule_and_not_with_when_it_was_made():
    values = {"test acc": [97.0, 96.0, 10.0, 97.5, 11.0], "train loss": [0.1, 0.2, 3.0, 0.1, math.nan]}
    document = cases.document({"algo+impl": values}, options=SampleOptions(weak=(Bar("test acc", "<", 50.0),)))
    rule = "weak by test acc: value < 50, or no finite number"
    assert f"2 completed runs were left out as not converged, by a rule of the authors ({rule})." in said(document)
    left = answers(document)["Which runs were left out, and why?"].answer
    assert left == (
        f"W{rule[1:]}, in all metrics (algo+impl-2); the value is NaN, in train loss (algo+impl-4); "
        f"{rule}, in all other metrics (algo+impl-4)."
    )


def test_runs_of_one_reason_are_told_together():
    values = {name: [1.0, math.nan, 2.0, math.nan] for name in ("test acc", "train loss", "val loss")}
    left = answers(cases.document({"algo+impl": values}))["Which runs were left out, and why?"].answer
    assert left == "The value is NaN, in all metrics (algo+impl-1 and algo+impl-3)."


def test_runs_side_by_side_took_less_than_their_durations_added_up():
    runs = [
        msgspec.structs.replace(run, started=f"2026-03-01T00:00:0{4 * (run.index // 2)}", slot=run.index % 2)
        for run in cases.completed("algo+impl", 4, seconds=[4.0] * 4)
    ]
    document = cases.document({"algo+impl": {"test acc": [1.0, 2.0, 3.0, 4.0]}}, runs=runs)
    text = answers(document)[TIME].answer
    assert "The durations of 4 runs add up to 16.0 s; up to 2 at a time, they took 8.0 s from the first start" in text
    assert "at a time" not in answers(cases.usual())[TIME].answer


def test_cores_are_those_of_a_run():
    def machines(held, **environment):
        runs = [msgspec.structs.replace(run, cores=held[run.index]) for run in cases.completed("algo+impl", 2)]
        values = {"algo+impl": {"test acc": [1.0, 2.0]}}
        document = cases.document(values, runs=runs, environment={"cpu": "EPYC", **environment})
        return answers(document)["Which machines were used?"].answer

    assert machines([[0], [1]], cores="1") == "CPU EPYC, 1 core for each run."
    assert machines([[0], [1, 2]], cores="1") == "CPU EPYC, 1 to 2 cores for each run."
    assert machines([[], []], cores="8") == "CPU EPYC, up to 8 cores for each run."
    assert machines([[], []]) == "CPU EPYC."


@pytest.mark.parametrize(
    ("git", "told"),
    [
        ("1f0c2d9", "git commit 1f0c2d9, digest 5f2a9c of the files that the runs depend on."),
        ("1f0c2d9 + 3 untracked", "git commit 1f0c2d9 and 3 untracked files, digest 5f2a9c"),
        (
            "1f0c2d9 + 1 changed file + 3 untracked",
            "git commit 1f0c2d9 with uncommitted changes (1 changed file) and 3 untracked files, digest 5f2a9c",
        ),
        ("", "digest 5f2a9c of the files that the runs depend on."),
    ],
)
def test_changes_beside_the_commit_are_told(git, told):
    document = cases.document({"algo+impl": DIGITS}, environment={"git": git})
    assert f"Source code: {told}" in said(document)
    assert told in answers(document)["Which code was run, and with which command?"].answer


PYTHON = "/home/ann/venv/bin/python"


@pytest.mark.parametrize("reader", ["brief", "full", "paper"])
def test_no_page_names_the_folder_of_a_program(reader):
    facts = cases.usual().facts
    step = Step(name="then", command=[PYTHON, "score.py"])
    made = msgspec.structs.replace(facts.definition, command=[PYTHON, "train.py"], steps=[step])
    result = EvaluationResult(step=step, runs=8, evaluated=8, failed=[], passes={})
    changed = msgspec.structs.replace(
        facts,
        command=made.command,
        definition=made,
        evaluations=evaluation_facts([result]),
        reproduce=msgspec.structs.replace(facts.reproduce, command=f"deviate run -- {PYTHON} train.py"),
    )
    page = msgspec.json.encode(experiment_page(changed, reader)).decode()
    assert "/home/ann" not in page
    assert "python train.py" in page
    if reader != "paper":
        assert "--then 'python score.py'" in page


def test_runs_that_share_a_training_are_counted_once():
    facts = cases.usual().facts
    (variant,) = facts.variants
    first, *others = variant.runs
    runs = [first, *(msgspec.structs.replace(run, same_as=first.name) for run in others[:2]), *others[2:]]
    shared = msgspec.structs.replace(facts, variants=[msgspec.structs.replace(variant, runs=runs)])
    sentence = (
        "2 runs were not trained separately: each used the same random numbers as another run and has its results."
    )
    assert sentence in methods(shared)
    (took,) = (answer.answer for answer in checklist(shared) if answer.question == TIME)
    assert "The durations of 6 runs add up to" in took
    assert "not trained separately" not in said(cases.usual())


def test_intervals_of_the_sd_are_those_of_the_runs_there_are():
    question = "How were they computed, and what is assumed?"
    few = cases.document({"algo+impl": {"test acc": [96.0, 97.0, 98.5]}})
    assert "Bonett" not in answers(few)[question].answer
    assert "Bonett" in answers(cases.usual())[question].answer
