"""The flow of ``deviate run``, a line a stage."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from deviate.errors import BadOption
from deviate.experiment import Decided
from deviate.factors import DEFAULT_VARIANT
from deviate.replicate.environment.masking import mask_words
from deviate.replicate.workspace.folders import ExperimentFolder, Workspace
from deviate.replicate.workspace.lock import locked
from deviate.study.criterion import settle_metric, settle_until
from deviate.study.decided import Referee
from deviate.study.events import GoesOn, OpenedAnew, StudyEvent
from deviate.study.request import Request, check_request, prepare_request
from deviate.study.resume import open_experiment
from deviate.study.runs import make_runs


def run(
    request: Request, observe: Callable[[StudyEvent], None] = lambda event: None, referee: Referee | None = None
) -> ExperimentFolder:
    """Do the whole job up to the last record; `observe` hears of every run that starts, goes on and ends.

    `referee` compares, where the request asks for runs until a comparison is decided.
    """
    check_request(request)
    rule = settle_until(request)
    # What the source does not show, the first run may print.
    prepared = prepare_request(request, scripted=False)
    if not prepared.controlled and request.variants == (DEFAULT_VARIANT,):
        request = msgspec.structs.replace(request, variants=("as-is",))
    rule = settle_metric(rule, prepared.findings) if rule else None
    workspace = Workspace(prepared.target.project)
    if isinstance(rule, Decided):
        if referee is None:
            raise BadOption(f"--until {rule.text!r} needs somebody who compares", hint="use `deviate.run`")
        referee.check(workspace, rule)
    if request.name is not None:
        workspace.experiment(request.name)  # refuses what cannot be a name, before anything is written
    workspace.prepare()
    with locked(workspace, ["deviate", "run", "--", *mask_words(prepared.target.command)]):
        opened = open_experiment(request, prepared, workspace, datetime.now().astimezone(), rule)
        folder = opened.folder
        if opened.other:
            observe(OpenedAnew(name=folder.name, other=opened.other))
        if opened.aside or opened.changed:
            aside = [change.text for change in opened.aside]
            observe(GoesOn(name=folder.name, aside=aside, changed=opened.changed))
        for event in make_runs(request, prepared.target.command, folder, rule, opened.changed, referee):
            observe(event)
    return folder
