"""What a report says of evaluations after the training."""

import report_cases as cases
from msgspec import structs

from deviate.core.experiment import Step
from deviate.facts.predictions import EvaluationResult, FailedPass
from deviate.report.topics.stability import conditions

STEP = Step(name="on cpu", command=["python", "evaluate.py"])
PASSES = {"algo+impl": {"on cpu: acc": {0: [1.0, 3.0], 1: [5.0, 7.0]}}}


def lost(run, repeat=0, status="failed"):
    return FailedPass(run=run, repeat=repeat, status=status, reason="it ended with status 1")


def described(*evaluated):
    made = cases.results({"algo+impl": {"test acc": [90.0, 91.0, 92.5]}})
    return cases.said(structs.replace(made, evaluated=list(evaluated)))


def test_what_failed_and_what_is_missing_is_said_once_for_all_runs_alike():
    failed = [lost("algo+impl-0"), lost("algo+impl-1"), lost("algo+impl-1", 1), lost("algo+impl-2", status="timed-out")]
    document = described(EvaluationResult(step=STEP, runs=8, evaluated=3, failed=failed))
    messages = [caveat["message"] for caveat in cases.contract(document)["warnings"] if "on cpu" in caveat["message"]]
    assert messages == [
        "Evaluation on cpu failed after 2 runs (algo+impl-0 and algo+impl-1): it ended with status 1. What the "
        "training recorded is kept; --retry-failed evaluates again.",
        "Evaluation on cpu timed out after 1 run (algo+impl-2): it ended with status 1. What the training recorded is "
        "kept; --retry-failed evaluates again.",
        "Evaluation on cpu has not been made of 2 runs yet.",
    ]


def test_what_is_left_of_several_evaluations_is_said():
    failed = [lost("algo+impl-0", 1), structs.replace(lost("algo+impl-1", 1), reason="cut", damaged=True)]
    document = described(EvaluationResult(step=structs.replace(STEP, repeat=2), runs=2, evaluated=0, failed=failed))
    ends = [each["message"].rpartition("again. ")[2] for each in cases.contract(document)["warnings"]
            if each["slug"] == "evaluation-failed"]  # fmt: skip
    assert ends == [
        "Until then the value of a run is the mean of its evaluations that completed.",
        "Until then a run of these has no value.",
    ]


def test_the_methods_name_what_was_run_how_often_and_how():
    once = EvaluationResult(step=STEP, runs=3, evaluated=3)
    often = structs.replace(
        once, step=structs.replace(STEP, repeat=4, device="cpu", threads=1, environment={"MODE": "x"}, python="py3")
    )
    sentences = " ".join(cases.contract(described(once, often))["methods"])
    assert "After each training, we ran `python evaluate.py` in the folder of the run." in sentences
    assert (
        "we ran `python evaluate.py` 4 times with device cpu, 1 thread, MODE=x, py3 in the folder of the run; we "
        "report the mean of these evaluations per run." in sentences
    )
    (facts, _) = described(once, often).evaluations
    assert conditions(facts) == ""


def test_the_sd_within_a_run_stands_beside_the_one_between_runs():
    document = described(EvaluationResult(step=structs.replace(STEP, repeat=2), runs=2, evaluated=2, passes=PASSES))
    (within,) = cases.contract(document)["evaluations"][0]["within"]
    assert within["n"] == 2
    assert within["sd_within"] == 2**0.5
    assert within["sd_between"] == 8**0.5
    for render in (cases.render_terminal, cases.render_markdown):
        text = render(document)
        assert "SD within a run" in text
        assert "on cpu: acc" in text
        assert "pooled over runs" in " ".join(text.split())
