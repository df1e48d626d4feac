"""``deviate audit``: which sources of nondeterminism a command has, which are pinned, and by what."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from deviate.audited import Audit, AuditedFactor, Pin, Probe


@click.command("audit", context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, metavar="-- COMMAND...")
@click.option("--entry", help="The Python script that trains, where the command does not show it.")
@click.option("--project", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Root of the project.")
@click.option("--limit", type=float, metavar="SECONDS", help="End each probe then  [default: 60]")
@click.option("--quick", is_flag=True, help="Only the two probes of COMMAND as it is.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(command: tuple[str, ...], limit: float | None, quick: bool, as_json: bool, **asked: Any) -> int:
    """Say which sources of nondeterminism COMMAND has, and what pins those that do not vary.

    COMMAND is run several times, each time only until everything has been drawn for: twice as it is, twice with
    everything held fixed, and once for each source with only that one varied.
    """
    import msgspec

    from deviate.audit import audit
    from deviate.errors import BadOption
    from deviate.request import Request
    from deviate.trial import DEFAULT_LIMIT

    if not command:
        raise BadOption("no command to audit", hint="type it after --: deviate audit -- python train.py")
    found = audit(
        Request(command=list(command), **asked),
        DEFAULT_LIMIT if limit is None else limit,
        tell=lambda name: click.echo(f"probe: {name}", err=True),
        quick=quick,
    )
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        click.echo("\n".join(lines(found)))
    return int(found.failed)


#: How a verdict is said.
WORDS = {"varies": "varies", "pinned": "pinned", "absent": "not present", "unknown": "cannot tell"}

_COLOURS = {"varies": "green", "pinned": "yellow", "absent": None, "unknown": "yellow"}


def lines(found: Audit) -> Iterator[str]:
    """Yield what is said of an audit, line by line."""
    from deviate.report.escape import clean

    yield clean(shlex.join(found.command))
    yield ""
    yield click.style(
        f"{'':9}{'as it is':13}{'in two probes':23}{'' if quick_only(found) else 'under Deviate'}".rstrip(), dim=True
    )
    for each in found.factors:
        yield from _factor(each)
    yield from _implementation(found)
    yield from _workers(found)
    yield from _draws(found)
    for probe in found.probes:
        yield from _problem(probe)
    yield from _block("What could not be done", found.notes)


def quick_only(found: Audit) -> bool:
    """Tell whether it was not tried what can be held and varied."""
    return all(each.held is None and each.moved is None for each in found.factors)


def _factor(each: AuditedFactor) -> Iterator[str]:
    word = WORDS[each.verdict]
    rest = f"{_prints(each):23}{_control(each)}".rstrip()
    blanks = " " * (13 - len(word)) if rest else ""
    yield f"{each.factor:9}{click.style(word, fg=_COLOURS[each.verdict])}{blanks}{rest}"
    if each.verdict == "pinned":
        yield from (f"{'':9}by {pin_text(pin)}" for pin in each.pins)
        if not each.pins:
            yield f"{'':9}by nothing that Deviate saw: a generator with a constant state, or a fixed order"
    if each.why:
        yield f"{'':9}{each.why}"


def _prints(each: AuditedFactor) -> str:
    if each.fingerprints == [None, None]:
        return ""
    one, other = (digest or "–" for digest in each.fingerprints)
    sign = {"varies": "≠", "pinned": "="}.get(each.verdict, "?")
    return f"{one:8} {sign} {other:8}"


def _control(each: AuditedFactor) -> str:
    said = []
    if each.held is not None:
        said.append("holds still" if each.held else click.style("does not hold still", fg="red"))
    if each.moved is not None:
        said.append("varies" if each.moved else click.style("does not vary", fg="red"))
    if each.leaks:
        said.append(click.style(f"moves {', '.join(each.leaks)} too", fg="red"))
    elif each.moved:
        said.append("alone")
    return ", ".join(said).replace("varies, alone", "varies alone")


def pin_text(pin: Pin) -> str:
    """Name what pins a factor, and where."""
    from deviate.report.escape import clean

    given = f"({pin.given})" if pin.given else ""
    where = f"{pin.file}:{pin.line}" if pin.line else pin.file
    if not pin.library:
        return clean(f"{pin.call}{given} at {where}")
    through = f", through {pin.through}" if pin.through else ""
    return clean(f"a library's default{'' if pin.seen else ', it seems'}: {pin.call}{given} in {where}{through}")


def _implementation(found: Audit) -> Iterator[str]:
    if found.gpu:
        yield f"{'impl':9}{WORDS['unknown']:13}kernels of a GPU: deviate run --vary impl measures it"
    else:
        yield f"{'impl':9}{WORDS['absent']:13}no GPU was used: with pinned threads there is no implementation noise"


def _workers(found: Audit) -> Iterator[str]:
    from deviate.report.escape import clean

    for each in found.workers:
        made = next((f" made at {source.file}:{source.line}" for source in each.sources if source.file), "")
        yield ""
        yield clean(
            f"{each.processes} worker processes draw the same augmentations ({each.digest}): a generator{made} is "
            "copied into each of them. Seed it in worker_init_fn."
        )


def _draws(found: Audit) -> Iterator[str]:
    yield from _block(
        "Draws that show no other purpose, and so are of `other`",
        [f"{draw.file}:{draw.line}  {draw.call}" for draw in found.draws_left],
    )


def _problem(probe: Probe) -> Iterator[str]:
    from deviate.report.escape import clean

    if probe.reason:
        yield ""
        yield click.style(f"The probe {probe.name!r} failed: ", fg="red") + clean(probe.reason)
        yield from (f"  {clean(line)}" for line in probe.stderr[-4:])
        if probe.hint:
            yield f"hint:  {clean(probe.hint)}"


def _block(title: str, listed: list[str]) -> Iterator[str]:
    from deviate.report.escape import clean

    if listed:
        yield from ("", title, *(f"  {clean(line)}" for line in listed))
