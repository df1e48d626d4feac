"""What ``deviate extract --verify`` says: which metrics yielded values, a sample of each, and what never came."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import click

from deviate.cli.progress import show_duration
from deviate.report.escape import clean
from deviate.request import Request
from deviate.verification import verify
from deviate.verified import Came, Unforeseen, Verification


def verify_metrics(request: Request, limit: float, *, as_json: bool) -> int:
    """Try the command out, print what came, and return the exit status."""
    import msgspec

    if not as_json:
        click.echo(f"running {shlex.join(request.command)} as it is, for up to {limit:g} s", err=True)
    found = verify(request, limit)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        click.echo("\n".join(_lines(found, limit)))
    return int(bool(found.silent))


def _lines(found: Verification, limit: float) -> Iterator[str]:
    yield f"{len(found.verified)} of {len(found.verified) + len(found.silent)} metrics came; {_ending(found, limit)}"
    yield ""
    rows = [
        _row(each, [other.name for other in found.unforeseen if other.metric == each.name]) for each in found.verified
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    mark = click.style("✓", fg="green")
    yield from (f"{mark} {name:<{widths[0]}}  {count:>{widths[1]}}  {sample}" for name, count, sample in rows)
    silence = _silence(found, limit)
    yield from (f"{click.style('✗', fg='red')} {clean(name)}  {silence}" for name in found.silent)
    if found.unforeseen:
        yield from ("", "names learnt at run time")
        yield from (f"  {clean(each.name)}  {' '.join(_row(each)[1:])}{_origin(each)}" for each in found.unforeseen)
    yield from _problems(found)


def _row(each: Came | Unforeseen, names: Sequence[str] = ()) -> tuple[str, str, str]:
    plural = "" if each.count == 1 else "s"
    sample = f"{each.first:.6g}" if each.count == 1 else f"{each.first:.6g} … {each.last:.6g}"
    if len(names) > 1:
        sample = f"under {len(names)} names, see below"
    return clean(each.name), f"{each.count} value{plural}", sample


def _origin(each: Unforeseen) -> str:
    return "  reported by a framework" if each.metric is None else f"  of {clean(each.metric)}"


def _ending(found: Verification, limit: float) -> str:
    took = show_duration(found.seconds)
    return {
        "completed": f"the program ran to its end in {took}",
        "all seen": f"ended after {took}, when all had been seen",
        "limit": f"ended at the limit of {show_duration(limit)}, {_progress(found)}",
        "failed": f"the program failed after {took}",
    }[found.ended]


def _progress(found: Verification) -> str:
    return f"in iteration {found.iterations} of the main loop" if found.iterations else "before the main loop began"


def _silence(found: Verification, limit: float) -> str:
    """Return why a metric is silent: the program never reports it, or had not got there yet."""
    if found.ended == "limit":
        return f"not yet: the program may come to it after {show_duration(limit)}; a larger --limit tells"
    if found.ended == "failed":
        return "did not come before the program failed"
    return "never came: the program ran to its end without reporting it"


def _problems(found: Verification) -> Iterator[str]:
    if found.reason:
        yield from ("", clean(found.reason))
    if found.silent and found.hint and found.ended != "limit":
        yield from ("", f"hint:  {clean(found.hint)}")
    yield from _block("the end of its standard error", found.stderr)
    yield from _block("not recorded", found.notes)


def _block(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", title, *(f"  {clean(line)}" for line in lines))
