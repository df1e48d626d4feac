"""Where a training may be that no call leads to: what to assume of the files that are read."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import msgspec

from deviate.analyse.flow.program import Program
from deviate.analyse.loops.training import training_signs
from deviate.analyse.naming.words import BEGINS, TRAIN
from deviate.analyse.source.index import ModuleIndex
from deviate.experiment import MainLoop, Metric

#: What is left of the confidence in a value that code reports which is assumed to run.
ASSUMED = 0.7
#: What a script is called that may train, and one that does something else.
_TRAINS = re.compile(rf"{TRAIN}|{BEGINS}(?i:fit|learn|main|run|exp|start|launch|cli(?![a-z]))")
_BESIDE = re.compile(
    rf"{BEGINS}(?i:test|eval|valid|infer|predict|demo|sampl|prep|data|plot|visual|export|convert|load|generat|setup)"
)


def may_train(entry: ModuleIndex) -> bool:
    """Whether a script that no training is seen in may train all the same, by its name."""
    name = PurePosixPath(entry.file).stem
    return bool(_TRAINS.search(name)) and not _BESIDE.search(name)


def training_modules(program: Program) -> list[ModuleIndex]:
    """Return the modules whose functions train."""
    return [module for module in program.modules if any(map(training_signs, module.units))]


def assumed_loop(loop: MainLoop) -> MainLoop:
    """Say of a main loop that it is assumed to run."""
    return msgspec.structs.replace(loop, why=f"{loop.why}; that the entry reaches it is assumed")


def assumed_metric(metric: Metric) -> Metric:
    """Say of a metric that the code which reports it is assumed to run."""
    why = f"{metric.why}; that the entry reaches it is assumed"
    return msgspec.structs.replace(metric, confidence=round(metric.confidence * ASSUMED, 2), why=why)
