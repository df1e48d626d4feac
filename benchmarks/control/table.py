"""Print what was said of control on public projects, as the tables of docs/control-in-the-field.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

HERE = Path(__file__).parent


def main() -> None:
    """Print both tables."""
    projects: list[dict[str, Any]] = msgspec.json.decode((HERE / "first_sight.json").read_bytes())
    print(figures(projects), table(projects), sep="\n\n")


def figures(projects: list[dict[str, Any]]) -> str:
    """Return the counts, one row a half."""
    lines = ["| half | projects | ran | control bit-identical | wrong statements | projects without one |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for half in ("first", "second"):
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
