"""A certificate: what control runs of a training repeated, as digests, and in what surroundings; and two compared."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec
import numpy as np

from deviate.core.errors import BadOption
from deviate.core.experiment import SCHEMA
from deviate.observe.fingerprints import WEIGHTS, Fingerprint, agree
from deviate.observe.identity import Series

# The values of a metric as a chain of digests, each over all values up to it.

#: Of the digests, and of the way in which they are made.
HASH, HASH_VERSION = "blake2b-128", 1

#: Links of a chain at most: of more values, every second one has a link, or every fourth, and so on.
MOST_LINKS = 256


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a run reported of one metric."""

    metric: str
    values: int
    #: A link stands behind each value of so many, a power of two, and behind the last.
    stride: int
    #: Of the value before each link: iteration of the main loop, number (null where it is not finite), digest.
    iterations: list[int]
    numbers: list[float | None]
    links: list[str]
    #: False: nothing shows in which iterations the values were reported.
    placed: bool = True

    @property
    def places(self) -> list[int]:
        """How many values each link is over."""
        return _places(self.values, self.stride)

    def at(self, place: int) -> tuple[int, float | None] | None:
        """Return iteration and number of the value before a link; None where there is no such link."""
        if place not in self.places:
            return None
        index = self.places.index(place)
        return self.iterations[index], self.numbers[index]


def _places(count: int, stride: int) -> list[int]:
    whole = list(range(stride, count + 1, stride))
    return whole if not count % stride else [*whole, count]


def chain_of(metric: str, series: Series) -> Chain:
    """Return the values of a metric as a chain."""
    count = len(series.values)
    stride = 1
    while count > MOST_LINKS * stride:
        stride *= 2
    places = _places(count, stride)
    links, digest = [], hashlib.blake2b(digest_size=16)
    for begin, end in zip([0, *places], places, strict=False):
        part = np.ascontiguousarray(series.iterations[begin:end]).astype("<i4").tobytes()
        digest.update(part + np.ascontiguousarray(series.values[begin:end]).astype("<f8").tobytes())
        links.append(digest.hexdigest())
    numbers = [float(series.values[place - 1]) for place in places]
    return Chain(
        metric=metric,
        values=count,
        stride=stride,
        iterations=[int(series.iterations[place - 1]) for place in places],
        numbers=[number if math.isfinite(number) else None for number in numbers],
        links=links,
        placed=series.placed,
    )


class Switched(msgspec.Struct, frozen=True, kw_only=True):
    """A switch in force, and who set it."""

    name: str
    value: str
    #: ``deviate, in the process``, ``deviate, in the environment`` or ``environment of the user``.
    where: str


#: What a certificate may leave unsaid.
Unobserved = Literal["weights", "draws", "predictions", "batches", "files", "device", "control"]


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What was equal, bit by bit, in the control runs of one training."""

    schema: int = SCHEMA
    #: Local time in ISO 8601, and version of Deviate.
    created: str
    deviate: str
    command: list[str]
    #: In which it is typed, relative to the project.
    folder: str
    seed: int
    runs: int
    hash: str = HASH
    hash_version: int = HASH_VERSION
    #: Over all that repeated.
    digest: str
    #: Iterations of the main loop that were begun.
    iterations: int
    chains: list[Chain]
    #: By name: what was drawn for each source, first batches, examples, final weights.
    fingerprints: dict[str, Fingerprint]
    #: Digests of the predictions that were captured, by evaluation.
    predicted: dict[str, str]
    #: Digests of the files of the project that the training may read, and of all of them together.
    source: str
    files: dict[str, str]
    #: Digests of the files outside the run's copy of the project that it read.
    data_files: dict[str, str]
    #: What decides how numbers come out: libraries, driver, devices, threads, settings, ranks.
    environment: dict[str, Any]
    #: Threads that numerical libraries were given; null: they chose.
    threads: int | None
    #: Processes of a run in which Deviate was started, workers among them.
    processes: int
    switches: list[Switched]
    #: Fingerprints and predictions in which the runs differed although their values agree.
    differed: list[str]
    unobserved: list[Unobserved]
    seconds: list[float]
    #: What a round of the main loop is called.
    word: str = "iteration"
    #: Processors that other programs of the machine used while the runs were made, on average; null: not known.
    others: float | None = None


def content_digest(chains: Sequence[Chain], prints: Mapping[str, Fingerprint], predicted: Mapping[str, str]) -> str:
    """Return one digest over all that repeated."""
    parts = sorted(
        [
            *(f"metric {chain.metric} {chain.links[-1]}" for chain in chains),
            *(f"fingerprint {name} {each.digest}" for name, each in prints.items()),
            *(f"predictions {name} {digest}" for name, digest in predicted.items()),
        ]
    )
    return hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def read_certificate(path: Path) -> Certificate:
    """Read a certificate.

    Raises BadOption if the file is none, or is one of a later version.
    """
    try:
        certificate = msgspec.json.decode(path.read_bytes(), type=Certificate)
    except OSError as problem:
        raise BadOption(f"{path} cannot be read: {problem.strerror}", hint="name a certificate") from problem
    except (msgspec.MsgspecError, ValueError) as problem:
        raise BadOption(
            f"{path} is no certificate: {problem}", hint="make one: deviate certify -- python train.py"
        ) from problem
    if (certificate.schema, certificate.hash_version) != (SCHEMA, HASH_VERSION):
        raise BadOption(f"{path} was written by another version of Deviate", hint="update Deviate")
    return certificate


# Two certificates compared.

#: ``equal``: the bits are, whatever else is another. ``environment``: they differ, and so does what decides how numbers
#: come out. ``drift``: they differ in the same surroundings. ``other``: they are not of the same training.
Likeness = Literal["equal", "environment", "drift", "other"]

#: Parts of the environment that decide no number.
_NO_MATTER = frozenset({"host", "git", "cores"})


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """The first value in which a training leaves another."""

    metric: str
    #: Of the main loop, from 0; -1 before it.
    iteration: int
    #: The iteration up to which the two are known to agree, where links leave several values open.
    since: int | None = None
    #: Numbers there; null where one reports no more values, or none that is finite.
    here: float | None
    there: float | None
    #: One of the two reports no value there.
    ended: bool = False
    placed: bool = True
    #: What a round of the main loop is called.
    word: str = "iteration"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Something of the training or its surroundings that is another."""

    name: str
    here: str
    there: str


class Likened(msgspec.Struct, frozen=True, kw_only=True):
    """Two certificates compared, or a training that was made again with the certificate that it was made from."""

    schema: int = SCHEMA
    likeness: Likeness
    command: list[str]
    #: The two, as they are called.
    here: str
    there: str
    #: Values and metrics that both have, and whether their final weights were compared.
    values: int
    metrics: int
    weights: bool
    parting: Parting | None
    #: Names of fingerprints and evaluations that differ.
    prints: list[str]
    #: What is another of the training: command, source, data, seed; and of its surroundings.
    training: list[Change]
    environment: list[Change]
    #: Digests over all that repeated.
    digests: list[str]

    @property
    def compared(self) -> bool:
        """Whether both have values of one metric, or final weights."""
        return bool(self.metrics or self.weights)

    @property
    def status(self) -> int:
        """The exit status: 1 where bits differ, whatever else is another, and 2 where none could be compared."""
        return 0 if self.likeness == "equal" else 1 if self.compared else 2


def liken(here: Certificate, there: Certificate, names: tuple[str, str]) -> Likened:
    """Compare two certificates, which are called `names`."""
    ours, theirs = ({chain.metric: chain for chain in each.chains} for each in (here, there))
    parting = _parting(ours, theirs, here.word)
    prints = _differing(here, there)
    training, environment = training_changes(here, there), environment_changes(here, there)
    weights = WEIGHTS in here.fingerprints and WEIGHTS in there.fingerprints
    compared = bool(ours.keys() & theirs.keys()) or weights
    return Likened(
        likeness=_likeness(bool(parting or prints) or not compared, training, environment),
        command=here.command,
        here=names[0],
        there=names[1],
        values=sum(min(ours[name].values, theirs[name].values) for name in ours.keys() & theirs.keys()),
        metrics=len(ours.keys() & theirs.keys()),
        weights=weights,
        parting=parting,
        prints=prints,
        training=training,
        environment=environment,
        digests=[here.digest, there.digest],
    )


def _likeness(differs: bool, training: Sequence[Change], environment: Sequence[Change]) -> Likeness:
    if not differs:
        return "equal"
    return "other" if training else "environment" if environment else "drift"


def _parting(ours: Mapping[str, Chain], theirs: Mapping[str, Chain], word: str) -> Parting | None:
    found = [each for name in {**theirs, **ours} if (each := _first(name, ours.get(name), theirs.get(name)))]
    first = min(found, key=lambda each: (not each.placed, each.iteration), default=None)
    return msgspec.structs.replace(first, word=word) if first else None


def _first(metric: str, one: Chain | None, other: Chain | None) -> Parting | None:
    if one is None or other is None:
        known = one or other
        assert known is not None
        return _ended(known, known.places[0], one is known)
    common = sorted(set(one.places) & set(other.places))
    alike = 0
    for place in common:
        if one.links[one.places.index(place)] != other.links[other.places.index(place)]:
            return _parted(one, other, place, alike)
        alike = place
    if one.values == other.values:
        return None
    longer = one if one.values > other.values else other
    return _ended(longer, next(place for place in longer.places if place > alike), longer is one)


def _parted(one: Chain, other: Chain, place: int, alike: int) -> Parting:
    (iteration, here), (theirs, there) = one.at(place) or (0, None), other.at(place) or (0, None)
    before = one.at(alike)
    since = None if place - alike == 1 else before[0] if before else -1
    placed = one.placed and other.placed
    return Parting(
        metric=one.metric, iteration=min(iteration, theirs), since=since, here=here, there=there, placed=placed
    )


def _ended(longer: Chain, place: int, is_ours: bool) -> Parting:
    iteration, number = longer.at(place) or (0, None)
    here, there = (number, None) if is_ours else (None, number)
    return Parting(metric=longer.metric, iteration=iteration, here=here, there=there, ended=True, placed=longer.placed)


def _differing(here: Certificate, there: Certificate) -> list[str]:
    """Name fingerprints and evaluations that differ, in the order in which they are listed."""
    prints = [name for name, each in here.fingerprints.items() if agree(each, there.fingerprints.get(name)) is False]
    both = here.predicted.keys() & there.predicted.keys()
    return prints + [name for name in sorted(both) if here.predicted[name] != there.predicted[name]]


def training_changes(here: Certificate, there: Certificate) -> list[Change]:
    """Return what makes two trainings others: their commands, seeds, source or data."""
    plain = {
        "command": (_plain(here.command), _plain(there.command)),
        "folder": (here.folder, there.folder),
        "seed": (str(here.seed), str(there.seed)),
    }
    changes = [Change(name=name, here=one, there=two) for name, (one, two) in plain.items() if one != two]
    changes += _files("source", here.files, there.files)
    # On another machine the same data lie in another place.
    ours, theirs = (
        {name: digest for name, digest in each.data_files.items() if digest not in set(other.data_files.values())}
        for each, other in ((here, there), (there, here))
    )
    return changes + _files("data", ours, theirs)


def _plain(command: Sequence[str]) -> str:
    """Return a command without the folder and the version of its interpreter."""
    first = PurePath(command[0]).name if command else ""
    return " ".join(["python" if first.startswith("python") else first, *command[1:]])


def _files(kind: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[Change]:
    names = sorted(name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name))
    return [
        Change(name=f"{kind} {name}", here=ours.get(name, "absent"), there=theirs.get(name, "absent")) for name in names
    ]


def environment_changes(here: Certificate, there: Certificate) -> list[Change]:
    """Return the parts of the environment that are others and may decide how numbers come out."""
    ours, theirs = ({**each.environment, "deviate": each.deviate} for each in (here, there))
    return surrounding_changes(ours, theirs)


def surrounding_changes(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[Change]:
    """Return what is another in two environments and may decide how numbers come out."""
    names = sorted({**ours, **theirs}.keys() - _NO_MATTER)
    texts = [(name, *(_text(each.get(name)) for each in (ours, theirs))) for name in names]
    return [Change(name=name, here=one, there=two) for name, one, two in texts if one != two]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "none" if value is None else msgspec.json.encode(value).decode()
