"""What an audit says: the verdict on each factor, what probes were compared in, and which lines drew."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA
from deviate.core.factors import SEEDED
from deviate.observe.events import ReachedDraw, ReplacedSeed
from deviate.observe.fingerprints import (
    BATCHES,
    EXAMPLES,
    IN_BATCHES,
    WEIGHTS,
    DrawSource,
    Fingerprint,
    agree,
    common_digests,
    is_constant,
    is_made_otherwise,
    is_of_other_examples,
    is_replaced,
)
from deviate.observe.identity import Difference
from deviate.observe.records import RunFiles
from deviate.observe.repetitions import RepeatedDraws, RepeatedOrder, RepeatedSeed
from deviate.probes.causes import Cause, Outcome, differ, value_difference
from deviate.probes.trial import Ending, PrintedNumber, Trials
from deviate.source.lint import Finding

# What two probes that should be equal were compared in beside their draws.


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One short run of the command."""

    #: ``as it is``, ``control``, or the factor that was varied alone.
    name: str
    ended: Ending
    seconds: float
    iterations: int
    fingerprints: dict[str, str]
    #: Why it failed or was not looked at; empty where it was.
    reason: str = ""
    hint: str = ""
    stderr: list[str] = []


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared of two probes, as far as both went."""

    #: The metrics that have values in both probes, and how many values were compared.
    metrics: list[str] = []
    values: int = 0
    #: Iterations of the main loop that both began.
    iterations: int = 0
    #: Both came to the end of the program.
    ended: bool = False
    #: The final weights were compared.
    weights: bool = False
    #: Whether all that was compared is equal; null where nothing was.
    equal: bool | None = None
    #: The first value that differs.
    difference: Difference | None = None
    #: Why nothing was compared; empty where something was.
    why: str = ""


#: Of probes that nobody made.
NOT_MADE = Compared(why="a probe failed or was not made")


def compare_probes(outcomes: Sequence[Outcome], probes: Sequence[Probe], limit: float) -> Compared:
    """Compare two probes; `probes` says how they went, with `limit` as the most seconds each may take."""
    first, second = outcomes
    if not (first.usable and second.usable):
        return NOT_MADE
    ours, theirs = first.beside(second), second.beside(first)
    counts = {name: min(len(ours[name].values), len(theirs[name].values)) for name in ours.keys() & theirs.keys()}
    metrics = sorted(name for name, number in counts.items() if number)
    ended = first.ended and second.ended
    weights = ended and WEIGHTS in first.prints and WEIGHTS in second.prints
    why = "" if metrics or weights else _why(probes, limit)
    return Compared(
        metrics=metrics,
        values=sum(counts.values()),
        iterations=min((probe.iterations for probe in probes), default=0),
        ended=ended,
        weights=weights,
        equal=None if why else not differ(first, second),
        difference=value_difference(first, second) if metrics else None,
        why=why,
    )


def _why(probes: Sequence[Probe], limit: float) -> str:
    if any(probe.ended == "limit" for probe in probes):
        return f"no metric was recorded within {limit:g} s (--limit)"
    return "no metric was recorded"


# Which lines drew for one factor in the two probes of the program as it is: ``deviate audit --explain FACTOR``.

#: Characters of a line of source that are kept.
TEXT_WIDTH = 100


class DrawingLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the program that drew for the factor, in the first process of a probe that reached it."""

    #: Relative to the project; empty where no line of the program was on the way.
    file: str
    line: int
    #: What was called: the draw itself, or the library's function that drew; empty where that is not known.
    call: str
    #: The line as it is written; empty where it cannot be read.
    text: str
    #: False: the draw was made somewhere before that line.
    exact: bool
    #: In the order of the first draws, from 1, in the first probe that drew there.
    order: int
    #: Draws that were seen in each probe; null where it drew nothing there.
    counts: list[int | None]
    #: Digests of all that the factor drew up to the line's first draw, in each probe.
    digests: list[str | None]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What was drawn for a factor, line by line."""

    factor: str
    lines: list[DrawingLine]
    #: Index in `lines` of the first draw that was another one in the second probe; null: none was seen.
    first_difference: int | None = None
    #: False: a probe was ended while it went on, so that counts are of what was seen until then.
    complete: bool = True


def check_factor(factor: str | None) -> None:
    """Refuse what is no factor that is drawn for, by `BadOption`."""
    if factor is not None and factor not in SEEDED:
        raise BadOption(
            f"--explain must be a factor that is drawn for, found {factor!r}", hint=f"one of {', '.join(SEEDED)}"
        )


def with_explanation(trials: Trials, factor: str | None) -> Trials:
    """Return the trials with the lines of a factor's draws recorded, where the program is run as it is."""
    return dataclasses.replace(trials, source=dataclasses.replace(trials.source, explain=factor))


def explain_factor(factor: str | None, probes: Sequence[RunFiles], snapshot: Path) -> Explanation | None:
    """Put together what the probes of the program as it is drew for a factor; `snapshot` holds the source."""
    if factor is None:
        return None
    by_probe = [_lines(probe) for probe in probes]
    locations = list(dict.fromkeys(location for lines in by_probe for location in lines))
    source = _Source(snapshot)
    lines = [
        DrawingLine(
            file=file,
            line=line,
            call=call,
            text=source.text(file, line),
            exact=exact,
            order=number,
            counts=[lines[location]["count"] if location in lines else None for lines in by_probe],
            digests=[lines[location]["digest"] if location in lines else None for lines in by_probe],
        )
        for number, location in enumerate(locations, 1)
        for file, line, call, exact in [location]
    ]
    different = (index for index, line in enumerate(lines) if len(set(line.digests)) > 1)
    return Explanation(
        factor=factor, lines=lines, first_difference=next(different, None), complete=all(map(_is_complete, probes))
    )


def _is_complete(probe: RunFiles) -> bool:
    return all(any(event["event"] == "end" for event in process.events) for process in probe.processes)


_Location = tuple[str, int, str, bool]


def _lines(probe: RunFiles) -> dict[_Location, dict[str, Any]]:
    """Return the last that was written of each line, in the order of the first draws; processes one after the other."""
    lines: dict[_Location, dict[str, Any]] = {}
    for process in probe.processes:
        of_process: dict[_Location, dict[str, Any]] = {}
        for event in (event for event in process.events if event["event"] == "explained"):
            location = (str(event["file"]), int(event["line"]), str(event["call"]), bool(event["exact"]))
            of_process[location] = {"count": int(event["count"]), "digest": str(event["digest"])}
        for location, drawn in of_process.items():
            before = lines.setdefault(location, {"count": 0, "digest": drawn["digest"]})
            before["count"] += drawn["count"]
    return lines


class _Source:
    """The lines of the project's files."""

    def __init__(self, snapshot: Path) -> None:
        self.snapshot = snapshot
        self._files: dict[str, list[str]] = {}

    def text(self, file: str, line: int) -> str:
        if file not in self._files:
            try:
                text = (self.snapshot / file).read_bytes().decode("utf-8", errors="replace") if file else ""
            except OSError:
                text = ""
            self._files[file] = text.splitlines()
        lines = self._files[file]
        return lines[line - 1].strip()[:TEXT_WIDTH] if 0 < line <= len(lines) else ""


#: ``varies``: another in each probe. ``pinned``: the same in each. ``absent``: nothing is drawn for it.
Verdict = Literal["varies", "pinned", "absent", "unknown"]

Fingerprints = Mapping[str, Fingerprint]

#: What seeds by a constant of its own where nothing is given.
CONSTANT = frozenset({"torch.Generator"})

#: Exit status of an audit that compared no value of the program as it is.
NOT_COMPARED = 3

#: Ends of the calls that seed a generator of one's own.
_OWN = ("Generator.manual_seed", "default_rng", "RandomState", "random.Random", "Generator.from_seed", "PRNGKey", "key")


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a factor the same in each run."""

    call: str
    #: Relative to the project; of a library where `library` is true.
    file: str
    line: int
    given: str
    #: True: a library seeds, by its default or by what it was passed.
    library: bool
    #: The line of the project that led there; empty where it is the line itself.
    through: str = ""
    #: False: nothing shows that it is drawn from, but it fits: a library's own generator, or one of several JAX keys.
    seen: bool = True


class AuditedFactor(msgspec.Struct, frozen=True, kw_only=True):
    """One factor of a program."""

    factor: str
    verdict: Verdict
    #: Why the verdict is unknown; empty where it is known.
    why: str = ""
    pins: list[Pin] = []
    #: Of the two probes of the program as it is; null where it drew nothing.
    fingerprints: list[str | None]
    #: How often the first probe drew for it, in how many processes.
    count: int = 0
    processes: int = 0
    #: With everything held fixed, two probes draw the same; null: unknown.
    held: bool | None = None
    #: With only this factor varied, its fingerprint is another one; null: unknown.
    moved: bool | None = None
    #: What else is another one then, though it should not be.
    leaks: list[str] = []

    @property
    def uncontrolled(self) -> bool:
        """Whether Deviate cannot hold it, or cannot vary it alone."""
        return self.held is False or self.moved is False or bool(self.leaks)


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an audit."""

    schema: int = SCHEMA
    command: list[str]
    factors: list[AuditedFactor]
    workers: list[RepeatedDraws]
    #: Places where the program or a library on its behalf seeds a generator.
    seeds: list[ReplacedSeed]
    #: Draws in the project's own files that belong to no other factor.
    draws_left: list[ReachedDraw]
    #: True: a GPU was started, so kernels may add noise that no seed decides.
    gpu: bool
    probes: list[Probe]
    notes: list[str] = []
    #: True: it was not tried which factors can be held and varied.
    quick: bool = False
    #: What makes values differ, or would, though nothing is drawn for it.
    causes: list[Cause] = []
    #: Which lines drew for the factor of ``--explain``; null where nobody asked.
    explanation: Explanation | None = None
    #: Numbers that the program as it is reported in text and that no metric of the source shows; observed ones first.
    printed: list[PrintedNumber] = []
    #: What was compared of the two probes of the program as it is, and of the two with everything held fixed.
    compared: Compared = NOT_MADE
    controlled: Compared | None = None
    #: Seeds that the program as it is sets again while it trains, and loaders that repeat the order of their examples.
    seeds_again: list[RepeatedSeed] = []
    orders_again: list[RepeatedOrder] = []
    #: Lines of the project that are known to make runs differ, whether they did here or not.
    lines: list[Finding] = []
    #: What a round of the main loop is called.
    word: str = "iteration"

    @property
    def failed(self) -> bool:
        """Tell whether a probe failed, or Deviate does not control a factor or a cause that is there."""
        uncontrolled = any(each.uncontrolled for each in self.factors) or any(c.held is False for c in self.causes)
        return uncontrolled or any(probe.reason for probe in self.probes)

    @property
    def status(self) -> int:
        """Return the exit status: a program that was compared in nothing has one of its own."""
        return 1 if self.failed else NOT_COMPARED if self.compared.equal is None else 0


def assess_factor(
    factor: str,
    observed: Sequence[Fingerprints],
    controls: Sequence[Fingerprints],
    varied: Fingerprints | None,
    seeds: list[ReplacedSeed],
) -> AuditedFactor:
    """Say whether a factor varies, what pins it, and whether it can be held and varied.

    The fingerprints are of two probes of the program as it is, of two with everything held fixed, and of one with only
    this factor varied. `seeds` are where the program seeds itself.
    """
    of_factor = [fingerprints.get(factor) for fingerprints in observed]
    verdict, why = _verdict(of_factor, [fingerprints.get(factor) for fingerprints in controls])
    if verdict == "absent":
        return AuditedFactor(factor=factor, verdict=verdict, why=why, fingerprints=[None, None])
    first = next((each for each in of_factor if each is not None), None)
    control = controls[0].get(factor)
    held = _drew_alike(control, controls[1].get(factor))
    moved = agree(control, varied.get(factor)) if varied is not None else None
    if moved and is_replaced([each for each in (control, (varied or {}).get(factor)) if each is not None]):
        moved = None
    return AuditedFactor(
        factor=factor,
        verdict=verdict,
        why=why,
        pins=_pins(factor, observed[0], seeds) if verdict == "pinned" else [],
        fingerprints=_distinguishing_digests(of_factor),
        count=first.count if first is not None else 0,
        processes=first.processes if first is not None else 0,
        held=held,
        moved=None if moved is None else not moved,
        leaks=_leaks(factor, controls, varied) if varied is not None else [],
    )


def _verdict(observed: Sequence[Fingerprint | None], controlled: Sequence[Fingerprint | None]) -> tuple[Verdict, str]:
    first, second = observed
    if is_constant([each for each in (*observed, *controlled) if each is not None]):
        return "absent", ""
    if first is None and second is None:
        if any(controlled):
            return "unknown", "the program as it is does not use it, but uses it when it is controlled"
        return "absent", ""
    if first is None or second is None:
        return "unknown", "only one of two probes used it"
    same = _drew_alike(first, second)
    if same is None:
        return (
            "unknown",
            f"it was drawn for in {first.processes} processes of one probe and {second.processes} of the other",
        )
    if same and (is_replaced([first, second]) or _is_partly_unseeded(first)):
        return "pinned", "what is drawn for it differs, and something takes its place, as weights from a file do"
    return ("pinned", "") if same else ("varies", _seeded_anew(first, second) or _unseeded(first))


def _is_partly_unseeded(drawn: Fingerprint) -> bool:
    """Tell whether content that is the same in each run was drawn for by a generator that nobody seeded, too."""
    return drawn.drawn is not None and any(not source.call for source in drawn.sources)


def _drew_alike(one: Fingerprint | None, other: Fingerprint | None) -> bool | None:
    """Tell whether two runs drew the same, whatever was made of it."""
    return is_made_otherwise(one, other) or agree(one, other)


def _seeded_anew(first: Fingerprint, second: Fingerprint) -> str:
    """Name the seed that a line gives which is another in each run; empty where there is none."""
    firsts, seconds = _given(first), _given(second)
    for (call, file, line), given in firsts.items():
        again = seconds.get((call, file, line), given)
        # Several processes may each give a seed of their own there.
        one, other = sorted(given - again), sorted(again - given)
        if one and other:
            return f"{call} at {file}:{line} is given another seed in each run: {one[0]}, {other[0]}"
    return ""


def _given(drawn: Fingerprint) -> dict[tuple[str, str, int], set[str]]:
    """Return the seeds that were given at each line."""
    given: dict[tuple[str, str, int], set[str]] = {}
    for source in drawn.sources:
        if source.call:
            given.setdefault((source.call, source.file, source.line), set()).add(source.given)
    return given


def _unseeded(drawn: Fingerprint) -> str:
    """Name the lines whose generators have other seeds in each run, as nobody gives one; empty where none is known."""
    lines = [
        f"{source.call}() at {source.file}:{source.line} takes a seed from the system"
        if source.call
        else f"nothing seeds the generator that {source.file}:{source.line} makes"
        for source in drawn.sources
        if source.file and (not source.call or (source.given == "None" and source.call not in CONSTANT))
    ]
    return "; ".join(dict.fromkeys(lines))


def _distinguishing_digests(fingerprints: Sequence[Fingerprint | None]) -> list[str | None]:
    """Return the digests of the first draws, unless only later draws differ; of content made otherwise, its draws'."""
    if len(fingerprints) > 1 and is_made_otherwise(fingerprints[0], fingerprints[1]):
        return [each.drawn if each is not None else None for each in fingerprints]
    firsts = [each.first if each is not None else None for each in fingerprints]
    ended = [each.digest if each is not None else None for each in fingerprints]
    same = agree(*fingerprints)
    if same and firsts[0] != firsts[1] and None not in fingerprints:
        return [*common_digests(*(each for each in fingerprints if each is not None))]
    equal = firsts[0] == firsts[1] and same is False
    return ended if equal else firsts


def _leaks(factor: str, controls: Sequence[Fingerprints], varied: Fingerprints) -> list[str]:
    """Name what moved beside `factor` and what follows from it; what control itself does not hold is no leak."""
    names = [name for name in (*SEEDED, BATCHES) if name != factor]
    # Without a set of examples, batches may follow from anything: a buffer of what an agent met, from its weights.
    if factor in IN_BATCHES or agree(controls[0].get(EXAMPLES), varied.get(EXAMPLES)) is not True:
        names.remove(BATCHES)
    if "shuffle" in names and is_of_other_examples([controls[0], varied], "shuffle"):
        names.remove("shuffle")
    return [
        name
        for name in names
        if agree(controls[0].get(name), varied.get(name)) is False
        and agree(controls[0].get(name), controls[1].get(name)) is not False
    ]


def _pins(factor: str, fingerprints: Fingerprints, seeds: Iterable[ReplacedSeed]) -> list[Pin]:
    """Return who seeded the generators that a factor drew from; where nobody is known, the libraries that may have."""
    libraries = {(seed.file, seed.line): seed for seed in seeds if seed.library}
    pins = {
        (source.file, source.line, source.call): _pin(source, libraries.get((source.file, source.line)))
        for source in fingerprints[factor].sources
        if source.call
    }
    if sum(map(_makes_key, pins.values())) > 1:
        return [msgspec.structs.replace(pin, seen=not _makes_key(pin)) for pin in pins.values()]
    return list(pins.values()) or list(_suspects(fingerprints, libraries.values()))


def _makes_key(pin: Pin) -> bool:
    """Whether a key of JAX was made there; of which one a draw was made, nothing shows."""
    return pin.call.startswith("jax.")


def _pin(source: DrawSource, library: ReplacedSeed | None) -> Pin:
    return Pin(
        call=source.call,
        file=source.file,
        line=source.line,
        given=source.given,
        library=library is not None,
        through=library.through if library is not None else "",
    )


def _suspects(fingerprints: Fingerprints, libraries: Iterable[ReplacedSeed]) -> Iterable[Pin]:
    """Yield the libraries' own seeds that no factor is known to draw from; those of generators of their own first."""
    drawn = {(source.file, source.line) for each in fingerprints.values() for source in each.sources}
    free = [seed for seed in libraries if (seed.file, seed.line) not in drawn]
    # Of a global generator it would have been seen who draws from it.
    for seed in [seed for seed in free if seed.call.endswith(_OWN)] or free:
        yield Pin(
            call=seed.call,
            file=seed.file,
            line=seed.line,
            given=seed.given,
            library=True,
            through=seed.through,
            seen=False,
        )


def digests(fingerprints: Fingerprints) -> dict[str, str]:
    """Return the digests of a probe by name; final weights only of a probe that came to its end."""
    return {name: each.digest for name, each in fingerprints.items() if name != WEIGHTS or each.ended}
