"""``deviate certify``: a certificate that a training repeats, and whether it does so here, or after a resumption."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deviate.cli.main import BeforeCommand
from deviate.cli.printing import examples, json_option, request_fields, say, show, write_output
from deviate.core.errors import BadOption

if TYPE_CHECKING:
    from deviate.report.views import View
    from deviate.runs.request import Request

#: Where a certificate is written unless the user says where.
DEFAULT_FILE = Path("certificate.json")


@click.command(
    "certify",
    cls=BeforeCommand,
    epilog=examples(
        "deviate certify -- python train.py                does it repeat?",
        "deviate certify --verify certificate.json         does it repeat here?",
        "deviate certify here.json there.json              are the two alike?",
        "deviate certify certificate.json -o page.html     the certificate as a page",
        "deviate certify --resume-at 3 -- python train.py  and after a break?",
        "deviate certify --price -- python train.py        what do held kernels cost?",
        "deviate certify --fix -- python train.py          what makes it repeat?",
    ),
)
@click.argument("command", nargs=-1, metavar="-- COMMAND... | FILE [FILE]")
@click.option(
    "-n",
    "runs",
    type=int,
    help="Control runs; with --price pairs of runs.  [default: 2; with --verify 1, with --price 5]",
)
@click.option(
    "--verify",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Train again as this certificate says. Status 0: equal; 1: it differs; 2: it cannot be compared.",
)
@click.option(
    "--resume-at",
    type=int,
    metavar="K",
    help="End the training after K iterations of its main loop, start it again, and compare it with one that was not "
    "interrupted. Status 0: equal; 1: it differs.",
)
@click.option(
    "--resume-with",
    metavar="'COMMAND'",
    help="Resume by this command, such as 'python train.py --resume {checkpoint}'.  [default: the same command]",
)
@click.option(
    "--price",
    "priced",
    is_flag=True,
    help="Say what held kernels cost: times and memory of runs with kernels held and free, in turn.",
)
@click.option(
    "--fix",
    "fixed",
    is_flag=True,
    help="Try switches on the program as it is until it repeats, and name the cheapest. Status 1: none helps.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the certificate to this file, or its page to one that ends in .html, .md or .tex and the certificate "
    "beside it.  [default: certificate.json]",
)
@json_option
def command(
    command: tuple[str, ...],
    runs: int | None,
    verify: Path | None,
    resume_at: int | None,
    resume_with: str | None,
    priced: bool,
    fixed: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Certify that COMMAND repeats, bit by bit.

    COMMAND is trained in full with everything held fixed, twice or more. What was equal is written as a certificate:
    values, draws, weights and predictions as digests, and what they rest on. Nothing is written where runs differ.
    """
    from deviate.cli.stdin import given_input
    from deviate.report.words import command_text
    from deviate.report.writers.registry import facts_json, find_writer, writers
    from deviate.runs.request import Request

    stored = [Path(word) for word in command] if command and all(map(_is_stored, command)) and not verify else []
    if not command and verify is None:
        raise BadOption("no command to certify", hint="type it after --, such as deviate certify -- python train.py")
    kinds = {"--verify": verify is not None, "--resume-at": resume_at is not None, "--price": priced, "--fix": fixed}
    asked = [name for name, given in kinds.items() if given]
    _check(asked, runs=runs, resume_with=resume_with)
    makes = not stored and not asked
    file = _certificate_file(output) if makes else None
    target = None if output == file else output
    writer = find_writer("json" if as_json else None, target, writers(json=facts_json))
    with given_input() as stdin:
        request = Request(command=list(command), stdin=stdin, **request_fields((), None))
        if stored:
            view = _stored(stored)
        elif asked and verify is None:
            view = _probed(request, resume_at, resume_with, runs if priced else None, fixed=fixed)
        else:
            view = _trained(request, runs, verify)
    certificate = getattr(view.facts, "certificate", None)
    if file is not None and certificate is not None:
        write_output(file, [facts_json(certificate)])
    show(view, writer, target, view.page().command, "certificate")
    if view.status == 1 and getattr(view.facts, "parting", None) is not None:
        say(f"where in the program: deviate diverge -- {command_text(view.command)}", err=True)
    return int(view.status)


def _check(asked: list[str], runs: int | None, resume_with: str | None) -> None:
    """Refuse options that do not go together.

    Raises BadOption with those that are typed.
    """
    if resume_with is not None and "--resume-at" not in asked:
        raise BadOption("--resume-with says how, and not when", hint="add --resume-at K")
    counted = runs is None or not {"--resume-at", "--fix"} & set(asked)
    typed = asked if counted else [*asked, "-n"]
    if len(typed) > 1:
        raise BadOption(f"{' and '.join(typed)} do not go together", hint="type two commands")


def _is_stored(word: str) -> bool:
    return word.endswith(".json") and Path(word).is_file()


def _certificate_file(output: Path | None) -> Path:
    """Return where the certificate is written; one that is there is replaced only where it was named.

    Raises BadOption if it would be replaced, before anything is trained.
    """
    if output is None and DEFAULT_FILE.exists():
        raise BadOption(
            f"{DEFAULT_FILE} is there already",
            hint=f"name another file with -o, or train again as it says: deviate certify --verify {DEFAULT_FILE}",
        )
    return DEFAULT_FILE if output is None else output.with_suffix(".json")


def _stored(files: list[Path]) -> View[Any]:
    from deviate.probes.certificate import liken, read_certificate
    from deviate.probes.certify import Certified
    from deviate.report.views import page_view

    if len(files) > 2:
        raise BadOption(f"at most two certificates are compared, found {len(files)}", hint="name two")
    if len(files) == 2:
        here, there = files
        return page_view(liken(read_certificate(here), read_certificate(there), (here.name, there.name)))
    certificate = read_certificate(files[0])
    return page_view(Certified(command=certificate.command, certificate=certificate))


def _probed(
    request: Request, resume_at: int | None, resume_with: str | None, pairs: int | None, *, fixed: bool
) -> View[Any]:
    """Resume the training, look for switches, or measure what held kernels cost."""
    from deviate.probes import fix, price, resume
    from deviate.report.views import page_view

    if resume_at is not None:
        return page_view(resume.resume(request, resume_at, resume_with, _announce))
    if fixed:
        return page_view(fix.fix(request, _announce))
    return page_view(price.price(request, price.DEFAULT_PAIRS if pairs is None else pairs, _announce))


def _trained(request: Request, runs: int | None, verify: Path | None) -> View[Any]:
    from deviate.probes.certify import DEFAULT_RUNS, certify, verify_certificate
    from deviate.report.views import page_view

    if verify is None:
        return page_view(certify(request, DEFAULT_RUNS if runs is None else runs, _announce))
    return page_view(verify_certificate(verify, request, 1 if runs is None else runs, _announce))


def _announce(text: str) -> None:
    say(text, err=True)
