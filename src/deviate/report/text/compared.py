"""Sentences on what the probes of an audit were compared in, and on what that says of the implementation."""

from __future__ import annotations

from deviate.preflight.compared import Compared
from deviate.preflight.verdicts import Audit
from deviate.report.text.words import count, joined

#: Metrics that are named.
NAMED = 3


def compared_text(audit: Audit, *, brief: bool = False) -> str:
    """Say how far the probes of the program as it is were compared, and whether they are equal; `brief`: unnamed."""
    compared = audit.compared
    if compared.equal is None:
        return f"Not compared: {compared.why}."
    outcome = "equal" if compared.equal else "they differ"
    what = count(compared.values, "value") if brief and compared.values else _what(compared)
    return f"Compared: {what} {_extent(compared)}; {outcome}."


def _what(compared: Compared) -> str:
    weights = ["the final weights"] if compared.weights else []
    if not compared.values:
        return joined(weights)
    names = compared.metrics[:NAMED]
    more = len(compared.metrics) - len(names)
    metrics = joined([*names, *([count(more, "more metric")] if more else [])])
    return joined([f"{count(compared.values, 'value')} of {metrics}", *weights])


def _extent(compared: Compared) -> str:
    if compared.ended:
        return "up to the end of the program"
    if compared.iterations:
        return f"in the first {count(compared.iterations, 'iteration')}"
    return "up to where a probe was ended"


#: What a table calls the implementation, by whether probes that drew the same are equal.
IMPLEMENTATION_CELLS = {True: "not seen", False: "varies", None: "cannot tell"}


def implementation_noise(audit: Audit) -> bool | None:
    """Tell whether two probes that drew the same are equal; None where a GPU may add noise, or nothing was compared."""
    if audit.gpu:
        return None
    compared = audit.controlled or audit.compared
    is_known = compared.equal or (audit.controlled is not None and not _is_explained(audit))
    return compared.equal if is_known else None


def _is_explained(audit: Audit) -> bool:
    """Tell whether probes differ under control by a cause that was found."""
    return any(cause.held is False and cause.kind != "unknown" for cause in audit.causes)


def implementation_text(audit: Audit) -> str:
    """Say what two equal probes show of the implementation."""
    compared = audit.controlled or audit.compared
    pair = "two probes with everything held fixed" if audit.controlled else "two probes"
    if audit.gpu:
        return "GPU kernels may add noise: `deviate run --vary impl` measures it"
    noise = implementation_noise(audit)
    if noise:
        return f"no GPU was used, and no implementation noise was seen: {pair} are equal in {_what(compared)}"
    if noise is False:
        return f"no GPU was used, yet {pair} differ"
    if compared.equal is False and audit.controlled:
        return f"{pair} differ by another cause, so nothing is known of it"
    return (
        f"not compared: {compared.why}" if compared.why else "two probes differ; without --quick, audit holds all else"
    )
