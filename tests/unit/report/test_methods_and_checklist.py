"""What is said for a paper is what the document knows, and nothing else."""

import msgspec
import pytest
import report_cases as cases

from deviate.experiment import Imported
from deviate.report.document import build_document
from deviate.report.methods import environment_text

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
    assert "was planned to be run 6 times of each variant" in text
    assert "Of 12 runs, 6 completed and enter the statistics; 1 failed, 1 timed out and 4 were not run." in text
    assert "was planned to be run 4 times" in said(cases.not_started())
    assert "Of 2 runs, none completed; 2 failed." in said(cases.none_completed())


def test_aggregates_and_intervals_are_named_only_where_they_were_used():
    text = said(cases.usual())
    assert "the last value reported for train loss and test loss; the best value of all iterations for test acc" in text
    assert "95% confidence intervals" in text
    assert "bootstrap" in text
    assert "confidence interval" not in said(cases.single())
    assert "bootstrap" not in said(cases.sources())


def test_a_promise_that_fingerprints_break_is_told():
    assert "Fingerprints show otherwise in shuffle for: stochastic layers (dropout)" in said(cases.sources())


def test_what_only_the_authors_know_is_unknown():
    found = answers(cases.usual())
    assert not found["How were hyper-parameters chosen?"].known
    assert not found["Which machines were used?"].known
    assert found["Which software does it depend on?"].answer == "Python 3.11.7."
    assert not answers(cases.single())["Are there error bars, and of what?"].known


def test_times_and_left_out_runs_are_those_of_the_document():
    found = answers(cases.troubled())
    left = found["Which runs were left out, and why?"].answer
    assert "the run failed (algo+impl-4)" in left
    assert "train loss: the value is NaN (algo+impl-2)" in left
    total = sum(run.seconds for variant in cases.troubled().variants for run in variant.runs)
    assert f"8 runs together: {total:.1f} s" in found["How long does a run take, and all of them?"].answer
    assert answers(cases.usual())["Which runs were left out, and why?"].answer == "None."


def test_of_imported_results_nothing_is_claimed():
    inputs = cases.inputs({"imported": {"test acc": [1.0, 2.0]}})
    source = Imported(format="csv", sources=["r.csv"], labels={"0": "a", "1": "b"})
    experiment = msgspec.structs.replace(inputs.experiment, imported=source)
    document = build_document(msgspec.structs.replace(inputs, experiment=experiment), cases.clock)
    text = said(document)
    assert "Results of 2 runs were imported (csv); Deviate did not run them." in text
    assert "What varied between the imported runs is not known." in text
    assert "held" not in text.replace("factors that were held", "")
    assert not answers(document)["Which factors of variability do they capture?"].known
    assert not answers(document)["Which code was run, and with which command?"].known


def test_absent_parts_of_an_environment_are_left_away():
    assert environment_text(
        {"gpu": "None", "cpu": "", "cores": "2"}, {"gpu": "GPU", "cpu": "CPU", "cores": "cores"}
    ) == ("cores 2")
