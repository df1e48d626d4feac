"""The keywords of Python functions: their types, and Deviate's own error for a wrong one."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar

from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.facts.comparison_options import Inconclusive, PairingMode
    from deviate.source.config import Share

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class TrainingKeywords(TypedDict, total=False):
    """What every function that trains takes beside the command; see the options of the same names."""

    entry: str | None
    project: Path | None
    here: Path | None
    jobs: int | None
    gpus: str | None
    per_gpu: int | None
    executor: str
    timeout: float | None
    stall: float | None
    memory: float | None
    accept_status: tuple[int, ...]
    warm: bool
    same_hardware: bool
    container: str | None
    share: Share
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    link: tuple[str, ...]
    discard_work: bool
    strict: bool
    factor: tuple[str, ...]
    partition: str | None
    time: str | None
    gres: str | None
    cpus: int | None
    scratch: str | None
    address: str | None


class RunKeywords(TrainingKeywords, total=False):
    """What `deviate.run` takes beside the command; see the options of ``deviate run`` of the same names."""

    variants: tuple[str, ...]
    name: str | None
    even_so: bool
    seed: int
    retry_failed: bool
    edited: bool
    predictions: str
    weights: str
    until: str | None
    most: int | None
    then: tuple[str, ...]
    environment: dict[str, str]


class CheckKeywords(TypedDict, total=False):
    """What `deviate.check` takes beside the sides, the drops and what makes samples."""

    alpha: float
    inconclusive: Inconclusive
    matches: dict[str, str]
    pairing: PairingMode
    max_failures: float | None
    max_churn: float | None
    max_group_drop: float | None


class PlanKeywords(TypedDict, total=False):
    """What `deviate.plan` takes beside the pilot and what makes its samples."""

    sd: float | None
    difference: float | None
    sd_ratio: float | None
    precision: float | None
    runs: int | None
    power: float
    alpha: float
    tests: int
    seconds: float | None
    correlation: float | None
    against: str | None
    failures: float | None
    metric: str | None


def known_keywords(*keywords: type) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Make a function refuse a keyword that it does not know with the nearest one that it does.

    `keywords` are the typed dictionaries that its ``**options`` stand for.
    """

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        named = [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        known = [*named, *(name for each in keywords for name in each.__annotations__)]

        @functools.wraps(function)
        def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
            for name in kwargs:
                if name not in known:
                    raise _unknown(function.__name__, name, known)
            return function(*args, **kwargs)

        return checked

    return decorate


def _unknown(function: str, name: str, known: Sequence[str]) -> BadOption:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}=?" if near else f"it takes {', '.join(word for word in known if word != 'self')}"
    return BadOption(f"{function}() takes no keyword {name!r}", hint=hint)
