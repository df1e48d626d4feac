"""The section of an audit that lists which lines drew for a factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deviate.observe.repetitions import RepeatedDraws, RepeatedOrder, RepeatedSeed, Repetitions
from deviate.report.page import Answer, Block, Cell, Row, Section, Table
from deviate.report.topics.caveat import Caveat
from deviate.report.topics.metrics import columns, number
from deviate.report.words import count, joined, ordinal, seed_text

if TYPE_CHECKING:
    # What an audit runs needs the reader of sources, which a report does without.
    from deviate.probes.verdicts import Audit, Compared, DrawingLine, Explanation

# Sentences on which lines drew for a factor.


def explanation_answer(explanation: Explanation) -> Iterator[str]:
    """Say how many lines drew, and which one first drew something else in the second probe."""
    factor, lines = explanation.factor, explanation.lines
    if not lines:
        yield f"Nothing was seen to draw for `{factor}`."
        return
    yield f"{count(len(lines), 'line')} drew for `{factor}`."
    if explanation.first_difference is None:
        yield "The first draws of each line are the same in both probes."
    else:
        first = lines[explanation.first_difference]
        where = f"at {place_text(first)}" if first.exact else place_text(first)
        yield f"The two probes first differ {where}."
    if not explanation.complete:
        yield "The probes were stopped early: counts cover what they did until then."


def place_text(line: DrawingLine) -> str:
    """Name a line that drew."""
    if not line.file:
        return "no line of the program"
    return f"{line.file}:{line.line}" if line.exact else f"before {line.file}:{line.line}"


def counts_text(line: DrawingLine) -> str:
    """Show how often a line drew in each probe; once where it is the same."""
    texts = ["–" if number is None else str(number) for number in line.counts]
    return texts[0] if len(set(texts)) == 1 else " / ".join(texts)


def digests_text(line: DrawingLine) -> str:
    """Show the digests of a line's first draw in both probes, and whether they agree."""
    sign = "=" if len(set(line.digests)) == 1 else "≠"
    return f" {sign} ".join(digest or "–" for digest in line.digests)


def explanation_section(explanation: Explanation | None, most: int | None = None) -> Section:
    """List the lines in the order of their first draws, at most so many, from the first that differs on if need be."""
    if explanation is None:
        return Section(slug="explained", blocks=[])
    blocks: list[Block] = [Answer(sentences=list(explanation_answer(explanation)))]
    if explanation.lines:
        blocks.append(_table(explanation, most))
    return Section(slug="explained", title=f"Draws for {explanation.factor}, line by line", blocks=blocks)


def _table(explanation: Explanation, most: int | None) -> Table:
    lines, differs = explanation.lines, explanation.first_difference or 0
    start = differs if most and differs >= most else 0
    shown = lines[start : start + most if most else None]
    left = len(lines) - len(shown)
    return Table(
        caption=f"Lines that drew for {explanation.factor}, in the order of their first draws, in two probes",
        slug="explained",
        columns=columns("", "line", "draws", "first digests", "what drew", words=5),
        rows=[Row(cells=_cells(line)) for line in shown],
        notes=[f"and {count(left, 'other line')}"] if left else [],
    )


def _cells(line: DrawingLine) -> list[Cell]:
    differs = len(set(line.digests)) > 1
    return [
        number(str(line.order), line.order),
        Cell(place_text(line)),
        Cell(counts_text(line)),
        Cell(digests_text(line), emphasis="good" if differs else "warning"),
        Cell(line.text or line.call or "not known"),
    ]


# Sentences on what the probes of an audit were compared in, and on what that says of the implementation.

#: Metrics that are named.
NAMED = 3


def compared_text(audit: Audit) -> str:
    """Say how far the probes of the program as it is were compared, and whether they are equal."""
    compared = audit.compared
    if compared.equal is None:
        return f"Not compared: {compared.why}."
    outcome = "equal" if compared.equal else "they differ"
    return f"Compared: {_what(compared)} {extent_text(compared, audit.word)}; {outcome}."


def _what(compared: Compared) -> str:
    weights = ["the final weights"] if compared.weights else []
    if not compared.values:
        return joined(weights)
    names = compared.metrics[:NAMED]
    more = len(compared.metrics) - len(names)
    metrics = joined([*names, *([count(more, "more metric")] if more else [])])
    return joined([f"{count(compared.values, 'value')} of {metrics}", *weights])


def extent_text(compared: Compared, word: str) -> str:
    """Say how far two probes were compared."""
    if compared.ended:
        return "up to the end of the program"
    if compared.iterations:
        return f"in the first {count(compared.iterations, word)}"
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
    """Tell whether probes differ under control by a cause that was found, or by draws that control does not hold."""
    found = any(cause.held is False and cause.kind != "unknown" for cause in audit.causes)
    return found or any(factor.held is False for factor in audit.factors)


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


# Sentences on random numbers that come again within a run.


def repetition_caveats(again: Repetitions, word: str) -> Iterator[Caveat]:
    """Say what comes again: from one training to the next it may be meant, as where they are to be compared."""
    for seed in again.seeds:
        yield _repeat(repeated_seed_text(seed, word), meant=not seed.in_one_training)
    for order in again.orders:
        yield Caveat(slug="order-repeats", message=repeated_order_text(order))
    for workers in again.workers:
        yield _repeat(repeated_text(workers), meant=workers.trainings)


def _repeat(message: str, *, meant: bool) -> Caveat:
    return Caveat(slug="draws-repeat", message=message, severity="note" if meant else "warning")


def repeated_seed_text(again: RepeatedSeed, word: str) -> str:
    """Say which lines set the same seeds again, and which rounds of the main loop drew the same."""
    seeds = joined([seed_text(seed) + (f", through {seed.through}" if seed.through else "") for seed in again.seeds])
    sets = "sets the same seed" if len(again.seeds) == 1 else "set the same seeds"
    if not again.in_one_training:
        first, second = map(ordinal, again.trainings)
        return f"{seeds} {sets} before each training: the {first} and the {second} draw the same numbers."
    first, second = (ordinal(iteration + 1) for iteration in again.iterations)
    return f"{seeds} {sets} again during the training: its {first} and {second} {word} draw the same numbers."


def repeated_order_text(order: RepeatedOrder) -> str:
    """Say that a loader gives its examples in the same order in each pass."""
    remedy = " Call its set_epoch before each." if order.sampler == "DistributedSampler" else ""
    return (
        f"The loader that {order.file}:{order.line} goes through gave its examples in the same order in {order.passes} "
        f"passes, one after the other ({order.sampler}).{remedy}"
    )


def repeated_text(again: RepeatedDraws) -> str:
    """Say that processes draw the same, and by what."""
    source = next((each for each in again.sources if each.file), None)
    who = f"{again.processes} {'trainings in processes of their own' if again.trainings else 'worker processes'}"
    if source is not None and (again.seeded_each or again.trainings):
        cause = f": {source.call}({source.given}) at {source.file}:{source.line} gives each of them the same seed."
    elif again.trainings:
        cause = "."
    else:
        made = f" {'seeded' if source.call else 'made'} at {source.file}:{source.line}" if source is not None else ""
        cause = f": a generator{made} is copied into each of them. Seed it in each, as in worker_init_fn."
    return f"{who} draw the same numbers{cause}"
