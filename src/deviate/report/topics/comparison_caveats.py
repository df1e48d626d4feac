"""What a reader must know before taking a difference between sides for one between recipes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from deviate.core.experiment import AT, IMPORTED, Direction, Run
from deviate.core.factors import DESCRIBED, plain_name
from deviate.core.shell_words import typed_word
from deviate.facts.comparable import GPU_NAMES, Comparability, Pairing
from deviate.report.escape import code_pieces
from deviate.report.page import Page
from deviate.report.topics.caveat import Caveat
from deviate.report.topics.metrics import resolution_footnotes, rounded_footnotes, weak_footnotes
from deviate.report.words import capital, count, drawn_factors, joined, listed


def comparison_caveats(facts: Comparability) -> list[Caveat]:
    """List all caveats, warnings before notes."""
    caveats = [
        *_other_data(facts),
        *_repeated(facts),
        *_assumed(facts),
        *_lost(facts),
        *_without_value(facts),
        *_weak(facts),
        *_environments(facts),
        *_pairing(facts),
        *_alone(facts),
        *_units(facts),
        *_best(facts),
        *_times(facts),
        *_resolution(facts),
        *_rounded(facts),
        *_unmatched(facts),
    ]
    return sorted(dict.fromkeys(caveats), key=lambda caveat: caveat.severity == "note")


def _rounded(facts: Comparability) -> Iterator[Caveat]:
    for message in rounded_footnotes(metric for match in facts.metrics for metric in match):
        yield Caveat(slug="whole-numbers-rounded", message=message)


def _other_data(facts: Comparability) -> Iterator[Caveat]:
    for side in facts.sides:
        if side.example_sets > 1:
            message = (
                f"The {count(side.completed, 'run')} of {side.label} had {side.example_sets} different sets of "
                "examples, although data were to be held fixed: they are not identical runs, and a difference may be "
                "one between data."
            )
            yield Caveat(slug="data-differ", message=message)


def _repeated(facts: Comparability) -> Iterator[Caveat]:
    for draws in facts.draws:
        for label, factors in draws.unshared.items():
            message = (
                f"All runs of {label} used the same random numbers for {drawn_factors(factors)}, unlike the other "
                f"experiment: in a comparison of recipes they count as one run. Make both with: {draws.remedy}"
            )
            yield Caveat(slug="draws-repeated", message=message)
    for labels, factors in _sharing(facts):
        message = (
            f"All runs of {listed(labels)} used the same random numbers for {drawn_factors(factors)}: the "
            "result holds for these numbers, and others may give another result."
        )
        yield Caveat(slug="draws-shared", message=message, severity="note")


def _sharing(facts: Comparability) -> Iterator[tuple[list[str], list[str]]]:
    """Yield experiments whose runs share the random numbers for the same factors, all that do at once."""
    alike: dict[tuple[str, ...], list[list[str]]] = {}
    for draws in facts.draws:
        if draws.shared and not draws.unshared:
            groups = alike.setdefault(tuple(draws.shared), [])
            # What shares with one of a group shares with all of it.
            joined = [group for group in groups if {draws.a, draws.b} & set(group)] + [[draws.a, draws.b]]
            groups[:] = [group for group in groups if group not in joined]
            groups.append(list(dict.fromkeys(label for group in joined for label in group)))
    for factors, groups in alike.items():
        yield from ((group, list(factors)) for group in groups)


def _assumed(facts: Comparability) -> Iterator[Caveat]:
    for side in facts.sides:
        if side.assumed:
            message = (
                f"{side.label} has several variants; {side.variant} is compared. Type {side.label}:VARIANT for another."
            )
            yield Caveat(slug="variant-assumed", message=message, severity="note")
    imported = [side.label for side in facts.sides if side.variant == IMPORTED]
    if imported and len(imported) < len(facts.sides):
        was = "was" if len(imported) == 1 else "were"
        message = f"{listed(imported)} {was} imported: what varied there is not known."
        yield Caveat(slug="variants-differ", message=message, severity="note")
    if len({side.variant for side in facts.sides} - {IMPORTED}) > 1:
        named = listed([f"{side.variant} in {side.label}" for side in facts.sides if side.variant != IMPORTED])
        message = f"Different variants are compared ({named}): what differs is also which factors varied between runs."
        yield Caveat(slug="variants-differ", message=message, severity="note")


def _lost(facts: Comparability) -> Iterator[Caveat]:
    for side in facts.sides:
        lost = side.ended - side.completed
        if lost:
            message = (
                f"{lost} of {count(side.ended, 'run')} of {side.label} did not complete and "
                f"{'enters' if lost == 1 else 'enter'} no mean: if "
                "failing runs are worse, the means are optimistic."
            )
            yield Caveat(slug="runs-lost", message=message)


def _without_value(facts: Comparability) -> Iterator[Caveat]:
    for metrics in facts.metrics:
        for side, metric in zip(facts.sides, metrics, strict=True):
            if metric.without_value:
                runs = count(metric.without_value, "completed run")
                message = f"{metrics[0].name}: {runs} of {side.label} left out, without a finite value."
                yield Caveat(slug="value-excluded", message=message)


def _weak(facts: Comparability) -> Iterator[Caveat]:
    for index, side in enumerate(facts.sides):
        for reason in dict.fromkeys(side.weak.values()):
            names = [Run(variant=side.variant, index=run).folder for run, rule in side.weak.items() if rule == reason]
            runs = f"{count(len(names), 'run')} of {side.label} {'is' if len(names) == 1 else 'are'} {reason}"
            message = f"{runs} ({listed(names)}): left out, as requested. The verdict is on the other runs."
            yield Caveat(slug="weak-runs", message=message)
        for sentence in weak_footnotes(metrics[index] for metrics in facts.metrics):
            yield Caveat(slug="weak-runs", message=f"{side.label}: {sentence}", severity="note")


def _environments(facts: Comparability) -> Iterator[Caveat]:
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for part in facts.environments:
        alike.setdefault(tuple(part.values.items()), []).append("GPU" if part.name == GPU_NAMES else part.name)
    for values, names in alike.items():
        labels: dict[str, list[str]] = {}
        for label, value in values:
            labels.setdefault(value, []).append(label)
        each = listed([f"{value} in {joined(where)}" for value, where in labels.items()])
        message = f"Made in different environments: {joined(names)} {each}. This may explain a difference."
        yield Caveat(slug="environment-differs", message=message)


def _pairing(facts: Comparability) -> Iterator[Caveat]:
    in_vain = any(pairing.asked and not pairing.pairs for pairing in facts.pairings)
    for sentence in pairing_sentences(facts.pairings):
        yield Caveat(slug="pairing", message=sentence, severity="warning" if in_vain else "note")


def _alone(facts: Comparability) -> Iterator[Caveat]:
    for pairing in facts.pairings:
        if pairing.alone:
            has, is_ = ("has", "is") if len(pairing.alone) == 1 else ("have", "are")
            message = f"Pairs are compared: {listed(pairing.alone)} {has} no partner and {is_} in no number here."
            yield Caveat(slug="no-partner", message=message)


def _units(facts: Comparability) -> Iterator[Caveat]:
    for each in facts.units:
        message = (
            f"{each.metric} looks like a fraction in {each.fraction} and like percent in {each.percent}: it is not "
            "compared. Report it in one unit, or multiply the column of the table and import it again."
        )
        yield Caveat(slug="units-differ", message=message)


def _best(facts: Comparability) -> Iterator[Caveat]:
    best = [metrics[0].name for metrics in facts.metrics if metrics[0].aggregate == "best"]
    if best:
        message = (
            f"Best value of each run taken for {listed(best)}: it is optimistic, and more so for the noisier "
            "experiment. Compare the last values too: --set aggregate=METRIC=last."
        )
        yield Caveat(slug="best-biased", message=message, severity="note")


def _times(facts: Comparability) -> Iterator[Caveat]:
    if facts.confounded:
        yield Caveat(slug="times-confounded", message=unalternated_text(facts.confounded), severity="note")
    elif any(metrics[0].kind == "speed" for metrics in facts.metrics):
        message = "Times are comparable only if each run had the machine to itself and the compared runs alternated."
        yield Caveat(slug="times-confounded", message=message, severity="note")


def unalternated_text(times: Mapping[str, Direction]) -> str:
    """Say why neither side is called better in times that differ; `times` are their better directions, by name."""
    typed = " ".join(f"--set {typed_word(f'direction={name}={direction}')}" for name, direction in times.items())
    return (
        f"{listed(list(times))}: neither experiment is called better, since their runs did not alternate and the "
        f"machine may have been busier during one of them. If it was idle, add {typed}. Variants of one experiment "
        "alternate."
    )


def _resolution(facts: Comparability) -> Iterator[Caveat]:
    for index, side in enumerate(facts.sides):
        for sentence in resolution_footnotes([metrics[index] for metrics in facts.metrics]):
            yield Caveat(slug="finite-test", message=f"{side.label}: {sentence}", severity="note")


def _unmatched(facts: Comparability) -> Iterator[Caveat]:
    for label, names in facts.unmatched.items():
        message = (
            f"Not compared, as not every experiment has them: {listed(names)} of {label}. "
            "--set match=A=B pairs two names."
        )
        yield Caveat(slug="metric-unmatched", message=message, severity="note")


def pairing_text(pairing: Pairing) -> str:
    """Say what pairing rests on, or why there is none."""
    if pairing.reason == "off":
        return "Runs are not paired, as asked."
    if pairing.reason == "few":
        partners = f"{pairing.partners} of {pairing.runs} runs"
        return f"Runs are not paired: {partners} have a partner, which is too few."
    if pairing.reason == "unproven":
        return "Runs are not paired: no fingerprint shows that runs with the same index used the same random numbers."
    if pairing.reason == "alike":
        return (
            f"Runs are not paired: all runs compared used the same random numbers for {drawn_factors(pairing.shared)}, "
            "and no fingerprint shows that runs with the same index share others."
        )
    if pairing.reason == "proven":
        return (
            f"Runs with the same index are paired: checksums show that both drew the same random numbers for "
            f"{_drawn(pairing)}, and runs with other indices drew others."
        )
    proof = "no fingerprint shows that they used the same random numbers, so the pairing rests on your word"
    if pairing.shared:
        proof = f"checksums show that both drew the same random numbers for {_drawn(pairing)}"
    alike = f"the same name in their sources, such as {pairing.named}," if pairing.named else "the same index"
    return f"Runs with {alike} are paired, as asked; {proof}."


def _drawn(pairing: Pairing) -> str:
    return listed([DESCRIBED[factor] for factor in pairing.shared], len(pairing.shared))


def pairing_sentences(pairings: Sequence[Pairing]) -> list[str]:
    """Say of every two sides that are compared what pairing rests on, or why there is none, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for pairing in pairings:
        by_reason.setdefault(pairing_text(pairing), []).append(f"between {pairing.a} and {pairing.b}")
    if len(pairings) < 2:
        return list(by_reason)
    between = {
        reason: "between any two" if len(names) == len(pairings) else listed(names)
        for reason, names in by_reason.items()
    }
    return [f"{capital(where)}, {reason[:1].lower()}{reason[1:]}" for reason, where in between.items()]


# Experiments whose names share a part: a screen says that part once, and names each by the rest.

#: Fields of a page that hold what is typed or was printed.
_LITERAL = frozenset({"command", "lines", "facts"})


class SharedNames(NamedTuple):
    """What some names share, and what each has beside it."""

    #: The sentence that says the shared part; empty where there is none.
    sentence: str = ""
    #: By the whole name.
    rests: Mapping[str, str] = {}


class _Parts(NamedTuple):
    experiment: str
    settings: tuple[str, ...]
    variant: str

    @property
    def head(self) -> str:
        """The name without the variant."""
        return AT.join(part for part in (self.experiment, ",".join(self.settings)) if part)

    def without(self, experiment: str, settings: Sequence[str], variant: str) -> str:
        """Return the name of what is left."""
        left = ",".join(setting for setting in self.settings if setting not in settings)
        head = "" if self.experiment == experiment else self.experiment
        tail = "" if self.variant == variant else plain_name(self.variant)
        left = left if head else left.replace("=", " ").replace(",", ", ")
        return ":".join(part for part in (AT.join(part for part in (head, left) if part), tail) if part)


def shared_names(names: Sequence[str]) -> SharedNames:
    """Return what all names share of ``EXPERIMENT@SETTING,SETTING:VARIANT``, and each as people read the rest of it.

    Nothing is shared where a name would have nothing left, or two would have the same left.

    >>> shared = shared_names(["digits@lr=0.1,width=32", "digits@lr=0.2,width=32"])
    >>> shared.sentence, list(shared.rests.values())
    ('Experiments of digits, all with width=32:', ['lr 0.1', 'lr 0.2'])
    >>> shared_names(["base", "wider"]).sentence
    ''
    """
    parts = [_parts(name) for name in names]
    experiment = _common(each.experiment for each in parts)
    variant = _common(each.variant for each in parts)
    settings = [each for each in parts[0].settings if all(each in other.settings for other in parts)]
    rests = [each.without(experiment, settings, variant) for each in parts]
    if not (experiment or settings or variant) or not all(rests) or len(set(rests)) < len(names):
        plain = [f"{each.head}:{plain_name(each.variant)}" if each.variant else name
                 for name, each in zip(names, parts, strict=True)]  # fmt: skip
        return SharedNames("", {name: text for name, text in zip(names, plain, strict=True) if text != name})
    return SharedNames(_sentence(parts, experiment, settings, variant), dict(zip(names, rests, strict=True)))


def _common(texts: Iterable[str]) -> str:
    different = set(texts)
    return different.pop() if len(different) == 1 else ""


def _sentence(parts: Sequence[_Parts], experiment: str, settings: Sequence[str], variant: str) -> str:
    what = "Variants" if experiment and len({each.settings for each in parts}) == 1 else "Experiments"
    kept = [*settings, *([f"variant {variant}"] if variant else [])]
    of, beside = f" of {experiment}" if experiment else "", f" all with {joined(kept)}" if kept else ""
    return f"{what}{of}{',' if of and beside else ''}{beside}:"


def _parts(name: str) -> _Parts:
    whole, _, variant = name.partition(":")
    experiment, _, settings = whole.partition(AT)
    return _Parts(experiment, tuple(settings.split(",")) if settings else (), variant)


def with_shared_names(page: Page, shared: SharedNames) -> Page:
    """Say the rest of each name, but not in what is typed; pages with a title say beside it what the names share."""
    if not shared.rests:
        return page
    renamed = _renamed(msgspec.to_builtins(page), lambda text: short_names(text, shared))
    named = msgspec.convert(renamed, Page)
    return msgspec.structs.replace(named, subtitle=shared.sentence.removesuffix(":")) if named.title else named


def short_names(text: str, shared: SharedNames) -> str:
    """Return the text with the rest of each name in the place of the whole."""
    if not shared.rests:
        return text
    # The longest first: a name may begin another.
    longest = sorted(shared.rests, key=len, reverse=True)
    pattern = rf"(?<![\w.,@=-])(?:{'|'.join(map(re.escape, longest))})(?![\w@=-]|[.,:]\w)"
    return re.sub(pattern, lambda name: shared.rests[name[0]], text)


def _renamed(part: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        pieces = code_pieces(part) if "`" in part else [part]
        return "`".join(piece if index % 2 else rename(piece) for index, piece in enumerate(pieces))
    if isinstance(part, list | tuple):
        return [_renamed(each, rename) for each in part]
    if isinstance(part, dict):
        return {key: each if key in _LITERAL else _renamed(each, rename) for key, each in part.items()}
    return part
