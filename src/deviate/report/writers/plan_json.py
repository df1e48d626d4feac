"""A plan as JSON: the contract of ``deviate plan --json``.

Keys other programs rely on come first; further ones may follow them. What is unknown is null.
"""

from __future__ import annotations

from typing import Any

import msgspec

from deviate.inference.pilot import Pilot
from deviate.inference.plan import Answer, Plan
from deviate.report.text.plan import plan_notes, question_text
from deviate.report.writers.json_values import json_text

#: Keys of an answer that came last.
_MADE = ("made", "made_cautious", "textbook")


def plan_json(plan: Plan) -> str:
    """Return one JSON object, indented, with a final newline."""
    fields = msgspec.to_builtins(plan)
    fields["pilot"] = _pilot(plan.pilot) if plan.pilot else None
    fields["answers"] = [_answer(answer, plan) for answer in plan.answers]
    later = (
        "alpha_each", "fewest_runs", "caution_factor", "caution", "command",
        "paired", "correlation", "sd_differences", "lost", "lost_cautious", "asked_runs",
    )  # fmt: skip
    first = {name: field for name, field in fields.items() if name not in later}
    return json_text({**first, "notes": plan_notes(plan), **{name: fields[name] for name in later}})


def _pilot(pilot: Pilot) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(pilot)
    measured = fields.pop("measured")
    later = ("against", "n_against", "pairs", "correlation", "sd_differences", "sd_planned", "freedom", "failures")
    first = {name: field for name, field in fields.items() if name not in later}
    return {**first, "excluded": measured["excluded"] if measured else [], **{name: fields[name] for name in later}}


def _answer(answer: Answer, plan: Plan) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(answer)
    kind, size, made = fields.pop("question"), fields.pop("size"), [fields.pop(name) for name in _MADE]
    first = {"question": question_text(answer, plan), **fields, "kind": kind, "size": size}
    return {**first, **dict(zip(_MADE, made, strict=True))}
