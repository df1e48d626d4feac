"""How far the runs of an experiment have come, in sentences."""

from __future__ import annotations

from deviate.report.durations import about_seconds
from deviate.report.text.words import count, listed
from deviate.results.live import LiveExperiment, State

_ENDED = ("completed", "evaluating", "failed", "timed-out", "cancelled", "not-instrumented")

#: Words for states that are counted behind the first number: those of runs that ended, and others.
_BESIDE: dict[State, str] = {
    "under way": "under way",
    "evaluating": "evaluating",
    "failed": "failed",
    "timed-out": "timed out",
    "cancelled": "cancelled",
    "not-instrumented": "not instrumented",
    "interrupted": "interrupted",
}


def live_state(live: LiveExperiment) -> str:
    """Say in a word or two whether runs go on."""
    if live.going:
        return "running"
    if live.count("completed") == len(live.runs):
        return "complete"
    return "ended" if all(run.state in _ENDED for run in live.runs) else "not running"


def live_sentences(live: LiveExperiment) -> list[str]:
    """Count the runs by how far they are, and say how long the rest will take."""
    ended = sum(run.state in _ENDED for run in live.runs)
    beside = {state: f"{number} {words}" for state, words in _BESIDE.items() if (number := live.count(state))}
    among = [words for state, words in beside.items() if state in _ENDED]
    others = "".join(f", {words}" for state, words in beside.items() if state not in _ENDED)
    how = f" ({listed(among, len(_BESIDE))})" if among else ""
    sentences = [f"{ended} of {count(len(live.runs), 'run')} ended{how}{others}."]
    if live.going:
        left = live.seconds_left
        about = "unknown before the first run has completed" if left is None else f"about {about_seconds(left)}"
        sentences.append(f"Time left: {about}.")
    return sentences
