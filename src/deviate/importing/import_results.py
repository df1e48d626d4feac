"""Results that were not run by Deviate become experiments."""

from __future__ import annotations

from datetime import datetime

from deviate.collect.aggregates import check_aggregate
from deviate.importing.build import propose
from deviate.importing.formats import format_of, read_results
from deviate.importing.request import ImportRequest
from deviate.importing.store import check_free, store
from deviate.replicate.lock import locked
from deviate.replicate.workspace import ExperimentFolder, Workspace


def import_results(request: ImportRequest) -> list[ExperimentFolder]:
    """Read results and store them as experiments; nothing is written where something is wrong.

    Raises
    ------
    DeviateError
        With what is wrong, and what to type.
    """
    for aggregate in request.aggregates.values():
        check_aggregate(aggregate)
    now = datetime.now().astimezone()
    kind = format_of(request)
    proposals = propose(read_results(request, kind), request, kind, now)
    workspace = Workspace(request.project)
    workspace.check_usable()
    check_free(proposals, workspace, request.replace)
    workspace.prepare()
    with locked(workspace, request.command):
        check_free(proposals, workspace, request.replace)
        return [store(proposal, workspace, now) for proposal in proposals]
