"""Print what was said of control on public projects, as tables: some stand in benchmarks/control/README.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent


def main() -> None:
    """Print the tables of all measurements, and what the second one changed."""
    first, after = judged("first_sight"), judged("after_mending")
    later, again = judged("later_sight"), judged("later_again")
    print(figures(first), table(first), changes(first, after), figures(after), table(after), sep="\n\n")
    print("", table(later), changes(later, again), table(again), sep="\n\n")


def judged(name: str) -> list[dict[str, Any]]:
    """Return the judgements of one measurement."""
    projects: list[dict[str, Any]] = msgspec.json.decode((HERE / f"{name}.json").read_bytes())
    return projects


def changes(first: list[dict[str, Any]], after: list[dict[str, Any]]) -> str:
    """Return the wrong statements on the projects that ran again, before and after, one row a half."""
    heads = "| half | run again | control bit-identical | wrong before | gone | still there | new | wrong now |"
    lines = [f"{heads} back or new, then mended |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for half in halves(first):
        every = {project["repo"]: set(project["wrong"]) for project in first if project["half"] == half}
        again = [project for project in after if project["half"] == half]
        ran = [project for project in again if project["values"]]
        same = sum(not project["control"] for project in ran)
        before = {(project["repo"], wrong) for project in again for wrong in every[project["repo"]]}
        now = {(project["repo"], wrong) for project in again for wrong in project["wrong"]}
        cells = (f"{len(again)} of {len(every)}", f"{same} of {len(ran)}", len(before))
        mended = sum(len(project.get("mended", [])) for project in again)
        counts = (len(before - now), len(before & now), len(now - before), len(now), mended)
        lines.append(f"| {half} | {' | '.join(map(str, cells + counts))} |")
    return "\n".join(lines)


def halves(projects: list[dict[str, Any]]) -> list[str]:
    """Return the halves that the projects belong to."""
    return sorted({project["half"] for project in projects})


def figures(projects: list[dict[str, Any]]) -> str:
    """Return the counts, one row a half."""
    lines = ["| half | projects | ran | control bit-identical | wrong statements | projects without one |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for half in halves(projects):
        own = [project for project in projects if project["half"] == half]
        ran = [project for project in own if project["values"]]
        same = sum(not project["control"] for project in ran)
        wrong = sum(len(project["wrong"]) for project in own)
        clean = sum(not project["wrong"] for project in own)
        lines.append(f"| {half} | {len(own)} | {len(ran)} | {same} | {wrong} | {clean} |")
    return "\n".join(lines)


def table(projects: list[dict[str, Any]]) -> str:
    """Return one row a project."""
    lines = ["| project | kind | half | outcome | wrong statements |", "|---|---|---|---|---:|"]
    for project in sorted(projects, key=lambda project: (project["half"], project["repo"].lower())):
        kind, outcome = ", ".join(project["kind"]), project["outcome"]
        lines.append(f"| {project['repo']} | {kind} | {project['half']} | {outcome} | {len(project['wrong'])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
