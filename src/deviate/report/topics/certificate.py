"""The pages of a certificate: what repeated, and how a training or another certificate compares with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from deviate.core.factors import DESCRIBED
from deviate.observe.fingerprints import BATCHES, EXAMPLES, INPUT, WEIGHTS
from deviate.observe.metrics import TIME_PER_RUN
from deviate.probes.certificate import Certificate, Change, Likened, Likeness, Parting, Unobserved
from deviate.probes.certify import Certified
from deviate.probes.fix import Fixed
from deviate.probes.price import PROCESSOR_TIME, Priced
from deviate.probes.resume import Lost, Resumed
from deviate.probes.training import Failure
from deviate.report.numbers import show
from deviate.report.page import (
    AT_TERMINAL,
    Answer,
    Badge,
    Block,
    Cell,
    Code,
    Emphasis,
    Facts,
    Fold,
    Hint,
    Page,
    Reader,
    Row,
    Section,
    Sentences,
    Table,
)
from deviate.report.topics.headline import known_prices, longer_text
from deviate.report.topics.metrics import columns, number
from deviate.report.topics.proof import iteration_text
from deviate.report.words import command_text, count, joined, listed, ordinal

#: Metrics on a screen, and of what is another.
METRICS_SHOWN, CHANGES_SHOWN = 4, 4

#: What is shown of a digest on a screen.
DIGEST_WIDTH = 12

_PRINTS = {BATCHES: "first batches", WEIGHTS: "final weights", EXAMPLES: "examples", INPUT: "first input"}

_UNOBSERVED: dict[Unobserved, str] = {
    "weights": "final weights",
    "draws": "random draws",
    "predictions": "predictions",
    "batches": "content of batches",
    "files": "all files that were read",
    "device": "whether other programs used the GPU meanwhile",
    "control": "draws of programs other than Python",
}

#: Of a machine that others use as well times say little.
OTHERS = "other programs used {used:.1f} processors"

#: Parts of the environment that a screen names.
_SHOWN = ("python", "libraries.torch", "libraries.tensorflow", "libraries.jax", "libraries.numpy", "threads", "cpu")


#: How parts of the environment begin that are listed as switches.
_VARIABLES = "variables."


def print_text(name: str) -> str:
    """Name a fingerprint, or an evaluation by its lines."""
    return _PRINTS.get(name) or DESCRIBED.get(name) or f"predictions at {name}"


def parting_text(parting: Parting, here: str, there: str) -> str:
    """Name the first value that differs, and what it is in both."""
    place = parting.metric
    if parting.placed:
        place = f"{place} {iteration_text(parting.iteration, parting.word)}"
    if parting.ended:
        more, less = (here, there) if parting.there is None else (there, here)
        return f"First difference: {place}, reported {more} and not {less}."
    if parting.since is not None:
        return f"First difference: {place} at the latest, and not {iteration_text(parting.since, parting.word)}."
    return f"First difference: {place}: {parting.here!r} {here}, {parting.there!r} {there}."


# A certificate, or why there is none.


def certified_page(facts: Certified, reader: Reader) -> Page:
    """Make the page of a certificate, or of what stands in its way."""
    command = command_text(facts.command)
    certificate = facts.certificate
    if certificate is None:
        blocks = _failed(facts.failure) if facts.failure else _varied(facts)
        sections = [Section(slug="answer", blocks=blocks)]
    else:
        sections = [section for section in _sections(certificate, reader) if section.blocks]
    return Page(
        title="" if reader in AT_TERMINAL else command,
        subtitle="" if reader in AT_TERMINAL else "a certificate that it repeats",
        command=f"deviate certify -- {command}",
        reader=reader,
        sections=sections,
    )


def _failed(failure: Failure) -> list[Block]:
    sentences = [f"No certificate: {failure.run} did not complete ({failure.reason})."]
    tail: list[Block] = [Code(lines=failure.stderr, output=True)] if failure.stderr else []
    hint: list[Block] = [Sentences(about="Hint", sentences=[failure.hint])] if failure.hint else []
    return [Answer(sentences=sentences, badge=_badge("no certificate", "bad")), *tail, *hint]


def _varied(facts: Certified) -> list[Block]:
    sentences = ["It does not repeat: two runs differ although everything is held fixed."]
    if facts.parting:
        sentences.append(parting_text(facts.parting, "in the second run", "in the first"))
    if facts.prints:
        sentences.append(f"Also different: {listed([print_text(name) for name in facts.prints])}.")
    why = Hint(text="what makes it vary:", command=f"deviate audit -- {command_text(facts.command)}")
    return [Answer(sentences=sentences, badge=_badge("does not repeat", "bad")), why]


def _badge(text: str, emphasis: Emphasis) -> Badge:
    return Badge(text=text, emphasis=emphasis)


def repeated_sentence(certificate: Certificate) -> str:
    """Say what repeated, and over which iterations."""
    values = sum(chain.values for chain in certificate.chains)
    parts = [f"{count(values, 'value')} of {count(len(certificate.chains), 'metric')}"] if values else []
    if WEIGHTS in certificate.fingerprints:
        parts.append("the final weights")
    if certificate.predicted:
        parts.append("the predictions")
    over = f" over {count(certificate.iterations, certificate.word)}" if certificate.iterations else ""
    return f"It repeats: {count(certificate.runs, 'run')} bit-identical in {listed(parts)}{over}."


def _sections(certificate: Certificate, reader: Reader) -> Iterator[Section]:
    is_whole = reader not in AT_TERMINAL
    answer = Answer(sentences=[repeated_sentence(certificate)], badge=_badge("repeats", "good"))
    shown = None if reader != "screen" else METRICS_SHOWN
    table = _chains(certificate, shown)
    yield Section(slug="answer", blocks=[answer, *table])
    yield Section(slug="rests", title="What it rests on" if is_whole else "", blocks=[_rests(certificate)])
    if reader == "screen":
        more = "A page, -o page.html, has all digests, the environment and switches."
        yield Section(slug="more", blocks=[Sentences(sentences=[more], emphasis="quiet")])
        return
    yield Section(slug="digests", title="Digests" if is_whole else "", blocks=[_digests(certificate)])
    environment = sorted(certificate.environment.items())
    pairs = [(name, _value(value)) for name, value in environment if not name.startswith(_VARIABLES)]
    yield Section(slug="environment", title="Environment" if is_whole else "", blocks=[Facts(pairs=pairs)])
    yield Section(slug="switches", title="Switches in force" if is_whole else "", blocks=_switches(certificate))


def _chains(certificate: Certificate, most: int | None) -> list[Block]:
    chains = certificate.chains[:most]
    if not chains:
        return []
    rows = [
        Row(
            cells=[
                Cell(chain.metric),
                number(str(chain.values), chain.values),
                number(_value(chain.numbers[-1]), chain.numbers[-1]),
                Cell(chain.links[-1][:DIGEST_WIDTH]),
            ]
        )
        for chain in chains
    ]
    left = len(certificate.chains) - len(chains)
    return [
        Table(
            caption="Values that repeated",
            slug="values",
            columns=columns("metric", "values", "last", last="digest"),
            rows=rows,
            notes=[f"{count(left, 'more metric')}: -o page.html"] if left else [],
        )
    ]


def _rests(certificate: Certificate) -> Facts:
    drawn = [print_text(name) for name in certificate.fingerprints if name != WEIGHTS]
    environment = certificate.environment
    on = [f"{name.rpartition('.')[2]} {_value(environment[name])}" for name in _SHOWN if environment.get(name)]
    gpus = environment.get("gpu.names")
    files = f"{count(len(certificate.files), 'file')} {certificate.source[:DIGEST_WIDTH]}"
    if certificate.data_files:
        files += f", {count(len(certificate.data_files), 'data file')}"
    pairs = [
        ("also equal", listed(drawn, most=len(drawn) or 1) or "nothing"),
        ("made on", ", ".join([*on, *([listed(gpus)] if gpus else [])])),
        ("of", files),
        *(
            [("not observed", listed([_UNOBSERVED[each] for each in certificate.unobserved]))]
            if certificate.unobserved
            else []
        ),
        *([("meanwhile", OTHERS.format(used=certificate.others))] if certificate.others is not None else []),
        ("digest", f"{certificate.digest} ({certificate.hash}, version {certificate.hash_version})"),
    ]
    if certificate.differed:
        pairs.insert(1, ("not equal", listed([print_text(name) for name in certificate.differed])))
    return Facts(pairs=pairs)


def _digests(certificate: Certificate) -> Table:
    digests = {
        **{chain.metric: chain.links[-1] for chain in certificate.chains},
        **{print_text(name): each.digest for name, each in certificate.fingerprints.items()},
        **{print_text(name): digest for name, digest in certificate.predicted.items()},
        **{f"source {name}": digest for name, digest in certificate.files.items()},
        **{f"data {name}": digest for name, digest in certificate.data_files.items()},
    }
    rows = [Row(cells=[Cell(name), Cell(digest)]) for name, digest in digests.items()]
    return Table(caption="Digests", slug="digests", columns=columns("what", "digest", words=2), rows=rows)


def _switches(certificate: Certificate) -> list[Block]:
    rows = [Row(cells=[Cell(each.name), Cell(each.value), Cell(each.where)]) for each in certificate.switches]
    if not rows:
        return []
    heads = columns("switch", "value", "set by", words=3)
    return [Table(caption="Switches in force", slug="switches", titled=True, columns=heads, rows=rows)]


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "not finite" if value is None else str(value)


# Two certificates compared.

_VERDICTS: dict[Likeness, tuple[str, Emphasis]] = {
    "equal": ("equal bits", "good"),
    "drift": ("drift", "bad"),
    "environment": ("another environment", "warning"),
    "other": ("another training", "warning"),
}

_NOT_COMPARED: tuple[str, Emphasis] = ("not comparable", "warning")


def likened_page(facts: Likened, reader: Reader) -> Page:
    """Make the page of two certificates compared."""
    text, emphasis = _VERDICTS[facts.likeness] if facts.compared else _NOT_COMPARED
    answer = Answer(sentences=list(likened_sentences(facts)), badge=_badge(text, emphasis))
    most = CHANGES_SHOWN if reader == "screen" else None
    return Page(
        title="" if reader in AT_TERMINAL else command_text(facts.command),
        subtitle="" if reader in AT_TERMINAL else f"{facts.here} and {facts.there}",
        command="",
        reader=reader,
        sections=[Section(slug="answer", blocks=[answer, *_changes(facts, most)])],
    )


def likened_sentences(facts: Likened) -> Iterator[str]:
    """Say whether the bits are equal, and if not, what may be the reason and where they first differ."""
    if facts.likeness == "equal":
        weights = " and the final weights" if facts.weights else ""
        yield f"Equal bit by bit: {count(facts.values, 'value')} of {count(facts.metrics, 'metric')}{weights}."
        if facts.training or facts.environment:
            yield f"The bits are equal although this is another: {_names([*facts.training, *facts.environment])}."
        return
    if not facts.compared:
        yield "Not comparable: the two have no metric in common."
        if facts.training or facts.environment:
            yield f"What is another: {_names([*facts.training, *facts.environment])}."
        return
    if facts.likeness == "other":
        yield f"Different, and so is the training: {_names(facts.training)}."
    elif facts.likeness == "environment":
        yield f"Different in another environment: {_names(facts.environment)}."
    else:
        yield "Different in the same environment."
    if facts.parting:
        yield parting_text(facts.parting, _in(facts.here), _in(facts.there))
    if facts.prints:
        yield f"Also different: {listed([print_text(name) for name in facts.prints])}."


def _names(changes: Sequence[Change]) -> str:
    return listed([each.name for each in changes])


def _in(name: str) -> str:
    return name if name == "here" else f"in {name}"


def _changes(facts: Likened, most: int | None) -> list[Block]:
    changes = [*facts.training, *facts.environment]
    if not changes:
        return []
    rows = [Row(cells=[Cell(each.name), Cell(_cut(each.here)), Cell(_cut(each.there))]) for each in changes[:most]]
    left = len(changes) - len(rows)
    table = Table(
        caption="What is another",
        slug="changes",
        columns=columns("what", facts.here, facts.there, words=3),
        rows=rows,
        notes=[f"{left} more: -o page.html"] if left else [],
    )
    return [Fold(title="What is another", blocks=[table])] if most is None else [table]


def _cut(text: str) -> str:
    is_digest = len(text) > 2 * DIGEST_WIDTH and text.isalnum()
    return text[:DIGEST_WIDTH] if is_digest else text


# A training that was interrupted and resumed.

_KINDS = {
    "weights": "weights",
    "optimizer": "optimizer",
    "scheduler": "scheduler",
    "scaler": "gradient scaler",
    "average": "averaged weights",
    "generator": "generator state",
    "order": "place in the order of the data",
    "variable": "variable",
}

#: Parts of an object that are named.
PARTS_SHOWN = 4


def lost_text(lost: Lost) -> str:
    """Name what was not restored."""
    parts = f" ({listed(lost.parts, PARTS_SHOWN)})" if lost.parts else ""
    return f"{_KINDS[lost.kind]} {lost.name}{parts}"


def resumed_page(facts: Resumed, reader: Reader) -> Page:
    """Make the page of a resumed training."""
    text = "equal" if facts.equal else "not compared" if facts.failure else "differs"
    answer = Answer(sentences=list(resumed_sentences(facts)), badge=_badge(text, "good" if facts.equal else "bad"))
    lines = facts.failure.stderr if facts.failure else []
    tail: list[Block] = [Code(lines=lines, output=True)] if lines else []
    pairs = [("resumed by", command_text(facts.resumed)), ("checkpoint", facts.checkpoint or "none found")]
    table = _lost(facts.lost, CHANGES_SHOWN if reader == "screen" else None)
    return Page(
        title="" if reader in AT_TERMINAL else command_text(facts.command),
        subtitle="" if reader in AT_TERMINAL else f"resumed after {count(facts.at, facts.word)}",
        command="",
        reader=reader,
        sections=[Section(slug="answer", blocks=[answer, *table, Facts(pairs=pairs), *tail])],
    )


def resumed_sentences(facts: Resumed) -> Iterator[str]:
    """Say whether the resumed training equals the other one, and if not, where they part and what was not restored."""
    if facts.failure:
        yield f"Not compared: {facts.failure.run}: {facts.failure.reason}."
        return
    if facts.anew:
        yield f"Not resumed: the command began again at the first {facts.word}."
        return
    place = f"Resumed at the {ordinal((facts.went_on or 0) + 1)} {facts.word}"
    if not (facts.values or facts.weights):
        yield f"{place}, but nothing could be compared: no value was recorded and no weights were seen."
        return
    if facts.equal:
        weights = " and the final weights" if facts.weights else ""
        values = f"{count(facts.values, 'value')} of {count(facts.metrics, 'metric')}"
        yield f"{place}, it equals a training that was not interrupted, bit by bit: {values}{weights}."
        return
    yield f"{place}, it differs from a training that was not interrupted."
    if facts.parting:
        yield parting_text(facts.parting, "resumed", "uninterrupted")
        if facts.weights and not facts.weights_differ:
            yield "The final weights are equal."
    elif facts.weights_differ:
        yield "The values are equal, and the final weights are not."
    if facts.lost:
        yield f"Not restored: {listed([lost_text(each) for each in facts.lost])}."
    else:
        yield "What was not restored is not known: all that was looked at was as it was."


def _lost(lost: Sequence[Lost], most: int | None) -> list[Block]:
    if not lost:
        return []
    rows = [
        Row(
            cells=[
                Cell(_KINDS[each.kind]),
                Cell(each.name),
                Cell(listed(each.parts, most or len(each.parts)) if each.parts else ""),
                Cell("as at the beginning" if each.fresh else "another"),
            ]
        )
        for each in lost[:most]
    ]
    left = len(lost) - len(rows)
    return [
        Table(
            caption="Not restored",
            slug="lost",
            columns=columns("what", "name", "of it", "when it went on", words=4),
            rows=rows,
            notes=[f"{left} more: -o page.html"] if left > 0 else [],
        )
    ]


# What held kernels cost, and the switches under which a program repeats.

#: Decimals of a ratio.
_DIGITS = -2


def priced_page(facts: Priced, reader: Reader) -> Page:
    """Make the page of the price of held kernels."""
    badge = Badge(text="not measured" if facts.failure else "price of determinism", emphasis="accent")
    blocks: list[Block] = [Answer(sentences=list(priced_sentences(facts)), badge=badge)]
    rows = []
    for price in facts.prices:
        ends = (price.interval.low, price.interval.high) if price.interval else (None, None)
        rows.append([Cell(price.metric), *map(_ratio, (price.ratio, *ends))])
    blocks.append(_table("Kernels held, as a multiple of kernels free", ["what", "ratio", "CI low", "CI high"], rows))
    timed = [[Cell(each.operation), *map(_ratio, (each.held, each.free))] for each in facts.kernels]
    heads = ["operation", "held", "free"]
    blocks.append(_table("Milliseconds an update of PyTorch, one run of each", heads, timed, "kernels"))
    return _page(facts, "--price", blocks, reader)


def _page(facts: Priced | Fixed, option: str, blocks: Sequence[Block], reader: Reader) -> Page:
    command = command_text(facts.command)
    shown = [block for block in blocks if not isinstance(block, Table) or block.rows]
    lines = facts.failure.stderr if facts.failure else []
    return Page(
        title="" if reader in AT_TERMINAL else command,
        command=f"deviate certify {option} -- {command}",
        reader=reader,
        sections=[Section(slug="answer", blocks=[*shown, *([Code(lines=lines, output=True)] if lines else [])])],
    )


def _table(caption: str, heads: Sequence[str], rows: Sequence[list[Cell]], slug: str = "prices") -> Table:
    made = [Row(cells=cells) for cells in rows]
    return Table(caption=caption, slug=slug, titled=True, columns=columns(*heads), rows=made)


def _ratio(value: float | None) -> Cell:
    return number("" if value is None else show(value, _DIGITS), value)


def priced_sentences(facts: Priced) -> Iterator[str]:
    """Say what held kernels cost, and what they buy here."""
    if facts.failure:
        yield f"Not measured: {facts.failure.run} did not complete ({facts.failure.reason})."
        return
    # Without a GPU other programs make a run take longer, and its own work not.
    least = [price for price in facts.prices if price.metric == PROCESSOR_TIME and not facts.may_vary]
    yield from known_prices((least or facts.prices)[:1])
    if not facts.may_vary:
        yield "Kernels could not vary: threads are pinned, and no GPU is used."
    yield f"The runs with free kernels {'are bit-identical, too' if facts.free_repeats else 'differ'}."
    if not facts.held_repeats:
        yield "The runs with held kernels differ: `deviate audit` looks for the cause."


# Switches that were tried.


def fixed_page(facts: Fixed, reader: Reader) -> Page:
    """Make the page of the switches under which a program repeats."""
    good = facts.repeats or bool(facts.mended)
    badge = Badge(text="repeats" if good else "does not repeat", emphasis="good" if good else "bad")
    names = [price.metric for price in facts.mended[0].prices] if facts.mended else []
    ratios = [{price.metric: price.ratio for price in each.prices} for each in facts.mended]
    rows = [
        [Cell(" and ".join(each.switches)), *(_ratio(known.get(name)) for name in names)]
        for each, known in zip(facts.mended, ratios, strict=True)
    ]
    blocks: list[Block] = [
        Answer(sentences=list(fixed_sentences(facts)), badge=badge),
        _table("As a multiple of the program as it is", ["switches", *names], rows),
    ]
    if not good and not facts.failure:
        blocks.append(Hint(text="what makes it vary:", command=f"deviate audit -- {command_text(facts.command)}"))
    return _page(facts, "--fix", blocks, reader)


def fixed_sentences(facts: Fixed) -> Iterator[str]:
    """Say whether a program repeats as it is, and if not, under which switches it does."""
    runs = f"{count(facts.runs, 'run')} bit-identical"
    if facts.failure:
        yield f"Not tried: a run did not complete ({facts.failure.reason})."
    elif facts.repeats:
        yield f"It repeats as it is: {runs}."
    elif facts.mended:
        yield f"It repeats with {joined(facts.mended[0].switches)}: {runs}."
        for price in [each for each in facts.mended[0].prices if each.metric == TIME_PER_RUN and each.ratio]:
            (text, shows), pairs = longer_text(price), f"over {count(facts.runs, 'pair')} of runs made in turn"
            if shows:
                yield f"Beside the program as it is a run takes {text}, {pairs}."
            else:
                yield f"That a run takes longer than one of the program as it is does not show: {text}, {pairs}."
    else:
        yield f"No switch makes it repeat; tried, alone and together: {listed(facts.tried)}."
        if facts.parting:
            yield parting_text(facts.parting, "in the last run", "in the first")
        if facts.held is True:
            yield "It repeats once Deviate holds its draws: a seed is missing, or is another in each run."
        elif facts.held is False:
            yield "It differs even with everything held."
