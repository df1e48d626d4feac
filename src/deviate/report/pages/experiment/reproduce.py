"""What was controlled, and what someone else needs to do the same again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from deviate.inference.experiment import ExperimentFacts
from deviate.report.figures.experiment import Charts
from deviate.report.page import Block, Code, Facts, Section, Sentences
from deviate.report.pages.experiment.runs import median_taken
from deviate.report.text.command import command_text, reproduce_text
from deviate.report.text.factors import Factors, factors_of
from deviate.report.text.words import disturbed, listed, seed_text

#: Variants whose factors are listed one by one on a brief page; of more, what all of them held.
IN_FULL = 2


def brief(facts: ExperimentFacts, charts: Charts) -> Section:
    """List what varied and what was held, seeds, and the command that makes the same again."""
    return Section(slug="reproduce", blocks=[Facts(pairs=list(_pairs(facts)))])


def _pairs(facts: ExperimentFacts) -> Iterator[tuple[str, str]]:
    several = len(facts.variants) > 1
    completed = [(variant.variant, factors_of(variant)) for variant in facts.variants if variant.completed]
    if len(completed) > IN_FULL:
        first = completed[0][1]
        yield "Held in all", ", ".join(held for held in first.held if all(held in each.held for _, each in completed))
        yield from (("", text) for text in _caveats(completed))
    else:
        for name, factors in completed:
            about = f" in {name}" if several else ""
            yield f"Varied{about}", ", ".join(factors.varied) or "nothing on purpose"
            yield f"Held{about}", ", ".join(factors.held)
            yield from (("", caveat) for caveat in factors.caveats)
    yield from _disturbed(facts)
    if facts.seeds_replaced:
        yield "Seeds replaced", listed([seed_text(seed) for seed in facts.seeds_replaced])
    if facts.seeds_kept:
        kept = listed([seed_text(seed) for seed in facts.seeds_kept])
        yield "Seeds kept", f"{kept} (for the data, which is held fixed)"
    if taken := median_taken([run for variant in facts.variants for run in variant.runs]):
        yield "A run took", taken
    yield "Reproduce", reproduce_text(facts)
    for each in facts.evaluations:
        yield each.name, command_text(each.command)


def _caveats(completed: Sequence[tuple[str, Factors]]) -> Iterator[str]:
    """Yield the caveats of several variants once each; what is true of one of them only begins with its name."""
    names: dict[str, list[str]] = {}
    for name, factors in completed:
        for caveat in factors.caveats:
            names.setdefault(caveat, []).append(name)
    yield from (f"{found[0]}: {caveat}" if len(found) == 1 else caveat for caveat, found in names.items())


def _disturbed(facts: ExperimentFacts) -> Iterable[tuple[str, str]]:
    """Say which runs seemed to be on which machine, or began with which weight changed."""
    names: dict[str, list[str]] = {}
    for variant in facts.variants:
        for run in variant.runs:
            if how := disturbed(run):
                names.setdefault(how, []).append(run.name)
    for index, (how, runs) in enumerate(names.items()):
        yield "" if index else "Ran", f"{how}: {listed(runs)}"


def seeds(facts: ExperimentFacts, charts: Charts) -> Section | None:
    """List seeds that were replaced or kept, draws left, switches, operations that warned, and environments."""
    groups: list[Block] = [
        Sentences(about=title, sentences=lines, listed=True) for title, lines in _groups(facts) if lines
    ]
    return Section(slug="seeds", title="Seeds, switches and environments", blocks=groups) if groups else None


def _groups(facts: ExperimentFacts) -> Iterator[tuple[str, list[str]]]:
    through = [f", reached from {seed.through}" if seed.through else "" for seed in facts.seeds_replaced]
    yield "Seeds replaced", [seed_text(s) + text for s, text in zip(facts.seeds_replaced, through, strict=True)]
    yield "Seeds of the data, kept", [seed_text(seed) for seed in facts.seeds_kept]
    yield "Draws of `other`", [f"{draw.call} at {draw.file}:{draw.line}" for draw in facts.draws_left]
    yield "Switches set", [f"{switch.name} = {switch.value}" for switch in facts.switches]
    yield (
        "Operations without a deterministic form",
        [f"{each.operation}: {listed(each.runs)}" if each.runs else each.operation for each in facts.operations],
    )
    yield (
        "Environments that differ",
        [
            f"{each.name}: " + "; ".join(f"{value} in {listed(runs)}" for value, runs in each.values.items())
            for each in facts.differences
        ],
    )


def full(facts: ExperimentFacts, charts: Charts) -> Section:
    """Return the command, source, versions and machine."""
    reproduce = facts.reproduce
    pairs = {
        "Folder": reproduce.folder,
        "Source": reproduce.source,
        "Seed": str(reproduce.seed),
        "Started": facts.created,
        **reproduce.environment,
        "Written": facts.generated,
    }
    # What a machine does not have, such as a GPU, is recorded as None.
    known = [(name, text) for name, text in pairs.items() if text not in ("", "None")]
    return Section(
        slug="reproduce", title="How to reproduce", blocks=[Code(lines=[reproduce_text(facts)]), Facts(pairs=known)]
    )
