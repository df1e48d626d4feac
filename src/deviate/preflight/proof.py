"""What may be said of a factor: it is absent only where probes came so far, and pinned where they were compared."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from deviate.experiment import Draw
from deviate.preflight.causes import Cause
from deviate.preflight.compared import Compared, Probe
from deviate.preflight.verdicts import AuditedFactor

#: Iterations that have begun when the first one is over.
WHOLE = 2

#: Why a probe that did not come to its end may not have drawn what another one did.
_CUT = {
    "limit": "a probe was ended by --limit before it came so far",
    "all seen": "a probe was ended before it came so far",
    "failed": "a probe failed",
}


def checked(factor: AuditedFactor, probes: Sequence[Probe], draws: Sequence[Draw], *, has_loop: bool) -> AuditedFactor:
    """Take nothing for absent that a failed probe may not have come to, or one that was ended may not have written.

    A process writes what little it drew when its main loop goes on, or at its end; the first iteration of a main loop
    draws for what nothing before it does.
    """
    if factor.verdict == "unknown":
        return msgspec.structs.replace(factor, why=_why_not_drawn(factor, probes) or factor.why)
    if factor.verdict != "absent":
        return factor
    may_draw = any(draw.factor == factor.factor for draw in draws)
    why = _why_unknown(probes, may_draw=may_draw, has_loop=has_loop)
    return msgspec.structs.replace(factor, verdict="unknown", why=why) if why else factor


def _why_not_drawn(factor: AuditedFactor, probes: Sequence[Probe]) -> str:
    """Say that a probe which did not draw for a factor did not come to its end; empty where it did."""
    pairs = zip(factor.fingerprints, probes, strict=False)
    cut = [probe.ended for digest, probe in pairs if digest is None and probe.ended in _CUT]
    return next((why for ended, why in _CUT.items() if ended in cut), "")


def _why_unknown(probes: Sequence[Probe], *, may_draw: bool, has_loop: bool) -> str:
    if any(probe.reason for probe in probes):
        return "a probe failed"
    if has_loop and any(probe.ended == "limit" and probe.iterations < WHOLE for probe in probes):
        return "a probe was ended in or before the first iteration of the main loop; a higher --limit tells"
    if may_draw and any(probe.ended in ("all seen", "limit") and not probe.iterations for probe in probes):
        return "its lines may draw, but no main loop was seen and a probe was ended; a program that ends sooner tells"
    return ""


def proved(
    factor: AuditedFactor, factors: Sequence[AuditedFactor], compared: Compared, causes: Sequence[Cause]
) -> AuditedFactor:
    """Call a factor pinned only where the values are equal, or differ by what is known.

    `factors` are all of the program, by their draws alone; `compared` is what its two probes were compared in.
    """
    if factor.verdict != "pinned":
        return factor
    why = _why_unproved(factors, compared, causes)
    return msgspec.structs.replace(factor, verdict="unknown", why=why) if why else factor


def _why_unproved(factors: Sequence[AuditedFactor], compared: Compared, causes: Sequence[Cause]) -> str:
    if compared.equal is None:
        return f"the same was drawn in two probes, but not compared: {compared.why}"
    drawn_alike = not any(factor.verdict in ("varies", "unknown") for factor in factors)
    explained = any(cause.kind != "unknown" for cause in causes)
    if compared.equal is False and drawn_alike and not explained:
        return "the same was drawn in two probes, but values differ by an unknown cause"
    return ""
