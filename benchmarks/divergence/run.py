"""Look for the first place where two runs of each fault part, and for one in its clean twin, which has none.

    python benchmarks/divergence/run.py [NAMES] [--cold] [--only fault|clean] [-o FILE]

A fault is a folder of `faults`: ``fault.py`` with the mark ``# here`` on the line to be named, ``clean.py`` and
``expected.json``: how it is run, and of a fault in an operation which one. One JSON object is written, and a table.
Trainings are forked from a process that has imported PyTorch, but for faults that lie in the start (``cold``).
"""

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
FAULTS = HERE / "faults"
MARK = "# here"


def main():
    """Search in all scripts and print what was said."""
    options = parsed()
    folders = [FAULTS / name for name in options.names] or sorted(FAULTS.iterdir())
    results = []
    for folder in folders:
        expected = json.loads((folder / "expected.json").read_text())
        for kind in ("fault", "clean"):
            if options.only in (None, kind):
                results.append(look(folder, kind, expected, cold=options.cold))
                say(results[-1])
                store(options.output, results)
    print(json.dumps({"schema": 1, "totals": totals(results), "cases": results}))
    print(totals(results), file=sys.stderr)


def parsed():
    """Return the options that were typed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cold", action="store_true", help="start every training as the command does")
    parser.add_argument("--only", choices=("fault", "clean"))
    parser.add_argument("-o", "--output", type=Path)
    return parser.parse_args()


def look(folder, kind, expected, *, cold):
    """Search in one script; return what was said, and whether it is right."""
    script = folder / f"{kind}.py"
    with tempfile.TemporaryDirectory() as project:
        shutil.copyfile(script, Path(project) / "train.py")
        began = processor_time()
        try:
            result = search(project, expected, cold=cold or expected.get("cold") or "library" in expected)
        except Exception as error:
            return {"case": folder.name, "kind": kind, "verdict": "error", "said": str(error)[-400:]}
    cause = result["cause"] or {}
    verdict = judged(kind, script, expected, result, cause)
    said = {
        key: cause[key]
        for key in ("kind", "file", "line", "code", "operation", "module", "phase", "after_line", "seen_line")
        if cause.get(key)
    }
    return {
        "case": folder.name,
        "kind": kind,
        "verdict": verdict,
        "step": result["step"],
        "parts": result["parts"],
        "replays": result["replays"],
        "processor_seconds": round(processor_time() - began, 1),
        "said": said,
        "notes": result["notes"] + [result["reason"]] * bool(result["reason"]),
    }


def processor_time():
    """Return the processor time of all searches and their trainings so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def search(project, expected, *, cold):
    """Return the result of a search in a project, from a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with open(reader, encoding="utf-8") as answers:
            text = answers.read()
        os.waitpid(child, 0)
        answer = json.loads(text)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer
    try:
        os.close(reader)
        text = json.dumps({"error": "no answer"})
        text = searched(project, expected, cold=cold)
    except BaseException as error:
        text = json.dumps({"error": str(error)})
    finally:
        os.write(writer, text.encode())
        os._exit(0)


def searched(project, expected, *, cold):
    """Search, in the process that was made for it."""
    from deviate.probes.diverge import diverge
    from deviate.runs.request import Request

    if not cold:
        from forked import fork_trainings

        fork_trainings()
    os.chdir(project)
    found = diverge(Request(command=["python", "train.py"]), as_it_is=expected["run"] == "as-is")
    return msgspec.json.encode(found).decode()


def judged(kind, script, expected, result, cause):
    """Return ``right``, ``wrong``, ``not named``, or ``not seen`` where the two runs were equal."""
    if kind == "clean":
        return "right" if result["parted"] is False else "not compared" if result["parted"] is None else "wrong"
    if not result["parted"]:
        return "not seen"
    marked = [number for number, text in enumerate(script.read_text().splitlines(), 1) if MARK in text]
    if not is_claimed(cause):
        return "not named"
    wanted = [cause["line"] in marked, expected.get("operation", "") in cause["operation"]]
    wanted += [cause[key] == expected[key] for key in ("kind", "module", "phase") if key in expected]
    return "right" if all(wanted) else "wrong"


def is_claimed(cause):
    """Tell whether a line or an operation is said to be the cause, and not only to show it first."""
    if cause["kind"] in ("host", "value", "draws", "flow", "shape"):
        return cause["origin"] is not None and cause["origin"]["kind"] != "before"
    return cause["kind"] not in ("between", "memory")


def totals(results):
    """Count the verdicts."""
    counts = {}
    for kind in ("fault", "clean"):
        verdicts = [result["verdict"] for result in results if result["kind"] == kind]
        counts[kind] = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    return counts


def say(result):
    """Print one verdict."""
    print(f"{result['case']:28} {result['kind']:6} {result['verdict']:10} {result.get('said')}", file=sys.stderr)


def store(output, results):
    """Write the results so far."""
    if output is not None:
        output.write_text(json.dumps({"schema": 1, "totals": totals(results), "cases": results}, indent=1) + "\n")


if __name__ == "__main__":
    # What the trainings are forked from.
    import numpy  # noqa: F401
    import torch._dynamo
    import torch.utils.data  # noqa: F401

    import deviate.probes.diverge  # noqa: F401

    sys.path.insert(0, str(HERE))
    import forked  # noqa: F401

    main()
