"""Sentences on an audit, and on what a command yielded while it was tried out."""

from __future__ import annotations

from collections.abc import Iterator

from deviate.core.factors import plain_name
from deviate.observe.iterations import TurnedLoop
from deviate.probes.causes import Cause, CauseKind
from deviate.probes.trial import Ending, PrintedNumber, UnforeseenName, Verification, YieldedMetric
from deviate.probes.verdicts import Audit, AuditedFactor, Pin, Probe, Verdict
from deviate.report.numbers import show_seconds
from deviate.report.topics.explanation import compared_text, extent_text
from deviate.report.topics.proof import place_text
from deviate.report.words import count, joined, listed, seed_text

VERDICTS: dict[Verdict, str] = {
    "varies": "varies",
    "pinned": "pinned",
    "absent": "no draw counted",
    "unknown": "cannot tell",
}

PROBE_ENDS: dict[Ending, str] = {
    "completed": "completed",
    "all seen": "ended once everything was drawn for",
    "limit": "ended at the limit",
    "failed": "failed",
}

#: Why probes that drew the same have other fingerprints.
PARTS_COMPARED = (
    "A fingerprint covers everything that a probe drew until it ended. Probes that were ended at different points have "
    "different fingerprints even where they drew the same numbers; the table of sources compares only what both drew."
)

NOTHING_PINS = "by nothing that Deviate saw"


#: Runs for which it is said what they would be where nothing varies.
RUNS_NAMED = 8


def audit_answer(audit: Audit) -> Iterator[str]:
    """Yield whether the program repeats itself as it is, and why; then what else is known of it."""
    yield _first(audit)
    if audit.compared.equal is True and audit.compared.ended and not _named(audit, "varies"):
        yield f"{RUNS_NAMED} runs would be one result, {RUNS_NAMED} times."
    if _named(audit, "varies") and (apart := [_caused(cause) for cause in audit.causes if cause.here]):
        yield f"Values differ between runs by what is not drawn, too: {joined(apart)}."
    if unknown := [*_named(audit, "unknown"), *([KERNELS] if audit.gpu else [])]:
        yield f"Unknown: {joined(unknown)}."
    if elsewhere := [_caused(cause) for cause in audit.causes if not cause.here]:
        yield f"Values would differ elsewhere by: {joined(elsewhere)}."


#: What a table calls the implementation.
KERNELS = "kernels"


def _named(audit: Audit, *verdicts: Verdict) -> list[str]:
    return [plain_name(factor.factor) for factor in audit.factors if factor.verdict in verdicts]


def _first(audit: Audit) -> str:
    if audit.compared.equal is None:
        return compared_text(audit)
    if varying := _named(audit, "varies"):
        unlike = f"{joined(varying)} {'vary' if len(varying) > 1 or varying[0].endswith('draws') else 'varies'}"
        return (
            f"{unlike}, yet two runs reported the same."
            if audit.compared.equal
            else f"Runs differ as they are: {unlike}."
        )
    pinned = [factor for factor in audit.factors if factor.verdict == "pinned"]
    fixed = "every seed is fixed" if pinned else "no random number was drawn"
    if any(factor.why for factor in pinned):
        fixed = "no draw that varies has an effect"
    is_told = not _named(audit, "unknown")
    if audit.compared.equal:
        begin = (
            "As it is" if audit.compared.ended else f"As far as it was run ({extent_text(audit.compared, audit.word)})"
        )
        return f"{begin}, this training repeats itself{f': {fixed}' if is_told else ''}."
    causes = [cause for cause in audit.causes if cause.here]
    has_entropy = any(cause.kind == "entropy" for cause in causes)  # A generator without a seed takes them.
    differ = f"Runs differ although {fixed}" if is_told and not has_entropy else "Runs differ as they are"
    if audit.gpu:
        known = [_caused(cause) for cause in causes if cause.kind != "unknown"]
        return f"{differ}: {' or '.join([*known, 'kernels of the GPU'])} may be why."
    return f"{differ}: {joined([_caused(cause) for cause in causes]) if causes else 'no cause was found'}."


def _caused(cause: Cause) -> str:
    # Of an unknown cause lines are suspected, below.
    is_known = cause.lines and cause.kind != "unknown"
    line = f", at {cause.lines[0].file}:{cause.lines[0].line}" if is_known else ""
    files = f" ({listed(cause.files)})" if cause.files else ""
    return f"{cause_name(cause)}{files}{line}"


def audit_verdict(audit: Audit) -> str:
    """Count the sources that vary, of those that are present."""
    present = [factor for factor in audit.factors if factor.verdict != "absent"]
    varying = sum(factor.verdict == "varies" for factor in present)
    return f"{varying} of {count(len(present), 'source')} vary"


def control_sentences(audit: Audit) -> Iterator[str]:
    """Yield which sources Deviate can vary alone; nothing where none was tried."""
    present = [factor for factor in audit.factors if factor.verdict != "absent"]
    tried = [factor for factor in present if factor.held is not None or factor.moved is not None]
    untold = [plain_name(factor.factor) for factor in present if factor.held is None or factor.moved is None]
    uncontrolled = [plain_name(factor.factor) for factor in tried if factor.uncontrolled]
    uncontrolled += [cause_name(cause) for cause in audit.causes if cause.held is False]
    probes = f"{count(len(audit.probes), 'probe')}, {show_seconds(sum(probe.seconds for probe in audit.probes))}"
    if uncontrolled:
        yield f"Deviate cannot hold, or cannot vary alone: {joined(uncontrolled)} ({probes})."
    elif tried and untold:
        yield f"Unknown whether Deviate can hold and vary alone: {joined(untold)} ({probes})."
    elif tried:
        all_of = "it" if len(tried) == 1 else f"each of the {len(tried)}"
        yield f"Deviate can vary {all_of} alone ({probes})."


#: What each cause is called in a sentence.
CAUSES: dict[CauseKind, str] = {
    "hash": "hashes of strings (PYTHONHASHSEED)",
    "clock": "the time",
    "entropy": "random bytes of the system",
    "files": "the order in which files are listed",
    "threads": "the order in which threads finish",
    "memory": "memory that is read before it is written",
    "leftovers": "files of an earlier run",
    "unknown": "an unknown cause",
}

LINES_NAMED = 5


def cause_name(cause: Cause) -> str:
    """Name a cause."""
    return CAUSES[cause.kind]


def cause_text(cause: Cause) -> str:
    """Say what makes values differ, where it enters, and whether Deviate holds it."""
    lines = [f"`{line.text}` at {line.file}:{line.line}" for line in cause.lines[:LINES_NAMED]]
    if len(cause.lines) > LINES_NAMED:
        lines.append(f"{len(cause.lines) - LINES_NAMED} more lines")
    where = f"{'suspected: ' if cause.kind == 'unknown' else ''}{joined(lines)}"
    parts = [f"{_effect(cause)}{f' ({where})' if lines else ''}."]
    if cause.difference is not None:
        parts.append(f"The first difference: {place_text(cause.difference)}.")
    if cause.kind == "hash":
        parts.append("Deviate holds them, and varies them with `other`.")
    elif cause.kind == "leftovers":
        own, each = "Deviate gives each run a folder of its own.", "Each run begins with them, here and under Deviate."
        parts.append(each if cause.in_project else own)
    elif cause.held is False:
        parts.append("Runs differ by it under Deviate, too.")
    if not cause.tried:
        parts.append("Without --quick, audit looks for the cause.")
    return " ".join(parts)


def _effect(cause: Cause) -> str:
    if cause.kind == "unknown":
        tries = "; holding what Deviate can hold does not help" if cause.tried and not cause.failed else ""
        return f"Two probes with equal draws report different values, for an unknown reason{tries}"
    if cause.in_project:
        return f"Values are others without {joined(cause.files[:LINES_NAMED])}, which the program itself writes"
    if cause.kind == "leftovers":
        return f"In a folder that was used before, values differ: a run finds {joined(cause.files[:LINES_NAMED])}"
    if cause.kind == "files":
        return "On another machine, values may differ by the order in which files are listed"
    if not cause.here:
        return f"Values depend on {cause_name(cause)}"
    return f"Values differ between runs by {cause_name(cause)}"


def control_text(factor: AuditedFactor) -> str:
    """Say whether Deviate can hold a factor, and vary it alone; empty where it was not tried."""
    parts = []
    if factor.held is not None:
        parts.append("held" if factor.held else "not held")
    if factor.moved is not None:
        alone = " alone" if factor.moved and not factor.leaks else ""
        parts.append(f"varied{alone}" if factor.moved else "not varied")
    if factor.leaks:
        parts.append(f"changes {', '.join(factor.leaks)} too")
    return ", ".join(parts)


def digests_text(factor: AuditedFactor) -> str:
    """Show the digests of both probes of the program as it is, and whether they agree; empty: nothing was drawn."""
    if factor.fingerprints == [None, None]:
        return ""
    first, second = (digest or "–" for digest in factor.fingerprints)
    sign = {"varies": "≠", "pinned": "="}.get(factor.verdict, "?")
    return f"{first} {sign} {second}"


def factor_notes(factor: AuditedFactor) -> list[str]:
    """Name what pins a factor, or say why its verdict is unknown."""
    pins = [f"by {pin_text(pin)}" for pin in factor.pins] or [NOTHING_PINS]
    return [*(pins if factor.verdict == "pinned" else []), *([factor.why] if factor.why else [])]


def pin_text(pin: Pin) -> str:
    """Name what pins a factor, and where."""
    given = f"({pin.given})" if pin.given else ""
    where = f"{pin.file}:{pin.line}" if pin.line else pin.file
    if not pin.library:
        return f"{pin.call}{given} at {where}{'' if pin.seen else ', if it draws from this key'}"
    through = f", through {pin.through}" if pin.through else ""
    # The program may have passed it: a default is said of nothing.
    return f"a seed set in a library{'' if pin.seen else ', it seems'}: {pin.call}{given} in {where}{through}"


def probes_text(probes: list[Probe]) -> str:
    """Name probes that ended alike."""
    if len(probes) == 1:
        return f"The probe {probes[0].name!r}"
    return f"{len(probes)} probes ({', '.join(dict.fromkeys(probe.name for probe in probes))})"


def seed_lines(audit: Audit) -> list[str]:
    """Name each place where the program, or a library on its behalf, seeds a generator."""
    return [seed_text(seed) + (f", through {seed.through}" if seed.through else "") for seed in audit.seeds]


def audit_method(audit: Audit) -> str:
    """Say how an audit was made, for a paper."""
    names = [probe.name for probe in audit.probes]
    searching = sum(", " in name for name in names)
    observed, control = names.count("as it is"), names.count("control")
    parts = [f"{observed} as it is"] if observed else []
    parts += [f"{control} with every source held fixed"] if control else []
    varied = len(names) - observed - control - searching
    parts += [f"{varied} with one source varied"] if varied else []
    parts += [f"{searching} with something else held or changed"] if searching else []
    return (
        f"The sources of nondeterminism were read off the fingerprints of {count(len(names), 'short probe run')}: "
        f"{joined(parts)}."
    )


# --------------------------------------------------------------------------------------------- extract --verify


def verification_answer(verification: Verification) -> str:
    """Count the metrics that recorded values, in the source and in the output, and say how the program ended."""
    foreseen = len(verification.verified) + len(verification.silent)
    observed = sum(number.kind is not None for number in verification.printed)
    further = f"{observed} more" if foreseen else f"{observed}"
    seen = f"{further} {'is' if observed == 1 else 'are'} read from the output; " if observed else ""
    if not foreseen:
        where = "" if observed else ", nor in the output"
        return f"No metric was found in the source{where}; {seen}{_ending(verification)}."
    return f"{_recorded(verification, foreseen)} found in the source recorded values; {seen}{_ending(verification)}."


def _recorded(verification: Verification, foreseen: int) -> str:
    if verification.silent:
        return f"{len(verification.verified)} of {count(foreseen, 'metric')}"
    return f"All {foreseen} metrics" if foreseen > 1 else "The only metric"


def recording_verdict(verification: Verification) -> str:
    """Say in a few words whether every metric of the source recorded values."""
    silent = len(verification.silent)
    return f"{count(silent, 'metric')} without values" if silent else "every metric has values"


def _ending(verification: Verification) -> str:
    took, iterations = show_seconds(verification.seconds), verification.iterations
    begun = f"with {count(iterations, verification.word)} of the main loop begun"
    progress = begun if iterations else "before the main loop began"
    return {
        "completed": f"the program ran to its end in {took}",
        "all seen": f"the program was ended after {took}, once every metric had a value",
        "limit": f"the program was ended at the limit of {verification.limit:g} s, {progress}",
        "failed": f"the program failed after {took}",
    }[verification.ended]


def silence(verification: Verification) -> str:
    """Say why a metric has no value: the program never reports it, or had not come that far."""
    if verification.ended == "limit":
        return f"not yet: the program may report it after {verification.limit:g} s; try a larger --set timeout"
    if verification.ended == "failed":
        return "not reported before the program failed"
    return "never reported: the program ran to its end without it"


def sample_text(metric: YieldedMetric | UnforeseenName | PrintedNumber, names: int = 0) -> str:
    """Show the first and the last value of a metric; of one with several names, how many it has."""
    if names > 1:
        return f"under {names} names, see below"
    return f"{metric.first:.6g}" if metric.count == 1 else f"{metric.first:.6g} … {metric.last:.6g}"


def turned_text(loop: TurnedLoop) -> str:
    """Say which loop iterates, and what counts its iterations."""
    table = f'[main_loop] with file = "{loop.file}" and line = {loop.line}'
    return (
        f"The loop at {loop.file}:{loop.line} iterates, by the lines that print: it began again at least "
        f"{count(loop.rounds, 'time')}. Its iterations are counted once deviate.toml has {table}."
    )


def kind_text(number: PrintedNumber) -> str:
    """Name the kind of an observed metric, and which values are better."""
    return f"{number.kind}, {number.direction} is better" if number.direction else f"{number.kind}"


def difference_text(number: PrintedNumber) -> str:
    """Say whether two runs of the program as it is reported the same."""
    return {True: "differ", False: "equal", None: "in one alone"}[number.varies]


def origin_text(name: UnforeseenName) -> str:
    """Say where a name comes from that is known at run time only."""
    return "reported by a framework" if name.metric is None else f"of {name.metric}"
