"""What is said of evaluations that are run after the training."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.inference.evaluations import EvaluationFacts
from deviate.report.text.caveat import Caveat
from deviate.report.text.command import command_text
from deviate.report.text.words import code, count, ended_as, listed

#: Said of passes that did not complete, where each run is evaluated several times.
FEWER = " Until then the value of a run is the mean of its evaluations that completed."


def conditions(facts: EvaluationFacts) -> str:
    """Say what an evaluation has otherwise than the training; empty: nothing."""
    parts = [
        f"device {facts.device}" if facts.device is not None else "",
        count(facts.threads, "thread") if facts.threads is not None else "",
        *(f"{name}={value}" for name, value in facts.environment.items()),
        facts.python,
    ]
    return ", ".join(part for part in parts if part)


def evaluation_caveats(evaluations: Iterable[EvaluationFacts]) -> Iterable[Caveat]:
    """Yield which evaluations failed, and which are still to be made."""
    for each in evaluations:
        alike: dict[tuple[str, str, bool], list[str]] = {}
        for lost in each.failed:
            alike.setdefault((ended_as(lost.status), lost.reason, lost.damaged), []).append(lost.run)
        for (ended, reason, damaged), runs in alike.items():
            names = list(dict.fromkeys(runs))
            message = (
                f"Evaluation {each.name} {ended} after {count(len(names), 'run')} ({listed(names)}): {reason}. "
                "What the training recorded is kept; --retry-failed evaluates again."
            )
            if each.repeat > 1:
                message += " Until then a run of these has no value." if damaged else FEWER
            yield Caveat(slug="evaluation-failed", message=message)
        if waiting := each.runs - each.evaluated - len({lost.run for lost in each.failed}):
            message = f"Evaluation {each.name} has not been made of {count(waiting, 'run')} yet."
            yield Caveat(slug="evaluation-missing", message=message)


def evaluation_methods(evaluations: Iterable[EvaluationFacts]) -> Iterable[str]:
    """Yield a sentence on each evaluation."""
    for each in evaluations:
        often = f" {each.repeat} times" if each.repeat > 1 else ""
        how = f" with {text}" if (text := conditions(each)) else ""
        mean = "; we report the mean of these evaluations per run" if each.repeat > 1 else ""
        command = code(command_text(each.command))
        yield f"After each training, we ran {command}{often}{how} in the folder of the run{mean}."
