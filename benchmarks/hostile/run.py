"""Run small programs bare and under Deviate, and look what differs: output, status, files, recorded values.

    python benchmarks/hostile/run.py                               all programs; prints a table and one JSON object
    python benchmarks/hostile/run.py launcher input-pipe           those of one kind, or by name
    python benchmarks/hostile/run.py --bare                        twice without Deviate: which programs repeat
    python benchmarks/hostile/run.py --deviate PATH --keep FOLDER --out hostile.json

Each folder of ``programs`` is a training of a few lines that does something that real programs do and tools trip over.
What is typed for it stands in ``programs.toml``. It is run once as it is, then with ``deviate run --vary as-is --vary
control -n 2``, each in a fresh copy with a home of its own. What must hold:

- as-is: standard output and error, exit status and written files are those of the bare run, byte for byte;
- control: both runs are equal to the byte, and differ from the bare run in numbers alone;
- the losses that the program itself writes into a file were recorded: each one, in order, every bit;
- the project's folder holds what it held, and nothing that was started still runs.

The only thing that is made alike in output is the path of the folder. A run that failed otherwise than the bare one,
or a command that Deviate would not start, is a refusal: right where ``programs.toml`` expects its reason.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from catalogue import Program, read_programs
from judged import judge, unequal
from started import start_bare, start_deviate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen programs, print what was found, and return 1 if anything is wrong."""
    options = parse(arguments)
    # A virtual environment's python is a link: what it leads to knows nothing of the environment.
    deviate = Path(os.path.abspath(options.deviate))
    with tempfile.TemporaryDirectory(prefix="hostile-") as scratch:
        place = (options.keep or Path(scratch)).resolve()
        chosen = read_programs(options.programs, deviate.parent / "python")
        if options.bare:
            differing = [tried_bare(program, place, deviate) for program in chosen]
            return int(any(differing))
        results = list(try_programs(chosen, place, deviate))
    print(table(results))
    text = json.dumps({"schema": 1, "programs": results}, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")
    return int(any(wrong(result) for result in results))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", help="names, or first words of names; all by default")
    parser.add_argument("--deviate", default=str(Path(sys.executable).parent / "deviate"), help="the tool to try")
    parser.add_argument("--bare", action="store_true", help="run each twice without Deviate")
    parser.add_argument("--keep", type=Path, help="work in this folder and leave it")
    parser.add_argument("--out", type=Path, help="also write the JSON object to this file")
    return parser.parse_args(arguments)


def tried_bare(program: Program, place: Path, deviate: Path) -> list[str]:
    """Run a program twice without Deviate; return and print what differs."""
    first, second = (start_bare(program, place / program.name / name, deviate) for name in ("bare", "again"))
    differing = unequal(first, second)
    print(f"{program.name}: status {first.status}, {len(first.losses)} losses: {differing or 'repeats'}", flush=True)
    return differing or ([] if first.losses else ["no losses"])


def try_programs(chosen: Sequence[Program], place: Path, deviate: Path) -> Iterator[dict[str, Any]]:
    """Run each program bare and under Deviate, and yield what was found."""
    for number, program in enumerate(chosen, 1):
        bare = start_bare(program, place / program.name / "bare", deviate)
        under = start_deviate(program, place / program.name / "deviate", deviate)
        result = {"name": program.name, "kind": program.kind, "bare_status": bare.status, **judge(program, bare, under)}
        said = "; ".join(f"{part}: {', '.join(result[part]['faults'])}" for part in parts(result))
        line = f"{number}/{len(chosen)} {program.name} ({under.seconds:.0f} s) {said or 'ok'}"
        print(line, file=sys.stderr, flush=True)
        yield result


def parts(result: dict[str, Any]) -> list[str]:
    """Return the variants in which something is wrong."""
    return [part for part in ("as-is", "control") if result[part]["faults"]]


def wrong(result: dict[str, Any]) -> bool:
    """Tell whether something is wrong with a program in one of its variants."""
    return bool(parts(result))


def table(results: Sequence[dict[str, Any]]) -> str:
    """Return a row for each kind, and a line for each program with which something is wrong."""
    kinds = defaultdict(list)
    for result in results:
        kinds[result["kind"]].append(result)
    rows = [f"{'kind':<14}{'programs':>10}{'as-is right':>13}{'control right':>15}{'refused':>9}{'wrong':>7}"]
    for kind, listed in [*kinds.items(), ("all", list(results))]:
        right = [sum(not each[part]["faults"] for each in listed) for part in ("as-is", "control")]
        refused = sum(any(each[part]["refused"] for part in ("as-is", "control")) for each in listed)
        rows.append(f"{kind:<14}{len(listed):>10}{right[0]:>13}{right[1]:>15}{refused:>9}{sum(map(wrong, listed)):>7}")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
