"""How Keras calls the accuracy that it logs: ``acc`` before Keras 2.3 and TensorFlow 2, ``accuracy`` since."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deviate.analyse.flow.program import Program
from deviate.analyse.frameworks.versions import stated_version
from deviate.analyse.source.dotted import imported_names
from deviate.analyse.source.index import CallSite

#: By the name that a program imports Keras under: the library that has a version, and the first that says ``accuracy``.
_SINCE = (("keras", "keras", (2, 3)), ("keras", "Keras", (2, 3)), ("tensorflow", "tensorflow", (2,)),
          ("tensorflow", "tensorflow-gpu", (2,)))  # fmt: skip
#: What a program reads of a history, gives a callback to watch, or writes into the name of a checkpoint.
_READ = re.compile(
    r"""(?:['"{]val_(?:[a-z]\w*_)?|(?:history\[|logs\[|logs\.get\(|monitor ?= ?)['"])(acc|accuracy)(?=['":}])"""
)
_OPTIMIZERS = ("SGD", "Adam", "Adamax", "Nadam", "RMSprop", "Adagrad", "Adadelta")
#: An accuracy whose name the program writes out stays what it is in every version.
_ACCURACY = re.compile(r"(?<!categorical_)(?<!binary_)(?<![a-z0-9])accuracy$")


def as_logged(program: Program, names: Iterable[str]) -> list[str]:
    """Return the names of metrics as the version of Keras logs them that the program is written for."""
    written = list(names)
    is_short = any(map(_ACCURACY.search, written)) and _is_short(program)
    return [_ACCURACY.sub("acc", name) for name in written] if is_short else written


def _is_short(program: Program) -> bool:
    """Whether an accuracy is ``acc``: by what the program reads, by the version it states, by how it is written."""
    read = {name for module in program.modules for line in module.lines for name in _READ.findall(line)}
    if len(read) == 1:
        return "acc" in read
    imported = _imported(program)
    for name, library, since in _SINCE:
        version = stated_version(program.imports.root, library) if imported == {name} else None
        if version is not None:
            return version < since
    return imported == {"keras"} and any(map(_is_of_old, _made(program)))


def _imported(program: Program) -> set[str]:
    """Return whether Keras is imported by itself, as a part of TensorFlow, or both."""
    nodes = (node for module in program.modules for node, _, _ in module.imports)
    dotted = (name.split(".") for node in nodes for name in imported_names(node))
    return {parts[0] for parts in dotted if "keras" in parts[:3]} & {"keras", "tensorflow"}


def _made(program: Program) -> list[CallSite]:
    return [site for name in _OPTIMIZERS for site in program.calls.get(name, ())]


def _is_of_old(site: CallSite) -> bool:
    """Whether an optimizer has a learning rate under the name that Keras gave it until 2.3."""
    return any(key.arg == "lr" for key in site.node.keywords)
