"""What the two digests of PyTorch's DebugMode see of each fault in a program of PyTorch, beside `run.py`.

    python benchmarks/divergence/debug_mode.py [NAMES]

Each script runs twice under DebugMode, forked from one process, or started anew where the fault lies in the start. The
calls are compared as its `check_hash_mismatches` does: two sequences of other calls are no comparison; else the first
call whose outputs have another digest is what it names. One JSON object is printed.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FAULTS = Path(__file__).parent / "faults"
DIGESTS = ("norm", "hash_tensor")


def main():
    """Try both digests on each fault."""
    if sys.argv[1:2] == ["--alone"]:
        run(Path(sys.argv[2]), sys.stdout)
        return
    names = sys.argv[1:] or sorted(folder.name for folder in FAULTS.iterdir())
    results = {}
    for name in names:
        expected = json.loads((FAULTS / name / "expected.json").read_text())
        script = FAULTS / name / "fault.py"
        if "torch" in script.read_text():
            pair = [(alone if expected.get("cold") else forked)(script) for _ in range(2)]
            results[name] = {digest: verdict(*pair, place, expected) for place, digest in enumerate(DIGESTS)}
            print(name, results[name], file=sys.stderr)
    print(json.dumps({"schema": 1, "faults": results}))


def verdict(first, second, place, expected):
    """Return what one digest tells.

    Of a fault in an operation: ``right`` or ``wrong``, whether that one is named; of another: ``shows``, an operation
    is named that comes after the cause. ``not seen``: all digests are equal; ``not compared``: the calls are others.
    """
    if [name for name, _ in first] != [name for name, _ in second]:
        return "not compared"
    pairs = zip(first, second, strict=True)
    named = next((name for (name, a), (_, b) in pairs if picked(a, place) != picked(b, place)), None)
    if named is None:
        return "not seen"
    operation = expected.get("operation")
    if operation is None:
        return "shows"
    return "right" if operation.replace("fault.", "fault::") in named or operation in named else "wrong"


def picked(digests, place):
    """Return one of the two digests of each tensor in what a call returned."""
    if isinstance(digests, list) and len(digests) == len(DIGESTS) and isinstance(digests[0], (int, float)):
        return repr(digests[place])
    return [picked(each, place) for each in digests] if isinstance(digests, list) else None


def alone(script):
    """Return the calls of one run that is started anew."""
    words = [sys.executable, __file__, "--alone", str(script)]
    return json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout)


def forked(script):
    """Return the calls of one run with the digests of their outputs, from a process of its own."""
    import torch._dynamo
    import torch.utils.data  # noqa: F401

    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with open(reader, encoding="utf-8") as answers:
            text = answers.read()
        os.waitpid(child, 0)
        return json.loads(text)
    try:
        os.close(reader)
        with open(writer, "w", encoding="utf-8") as answers:
            run(script, answers)
    finally:
        os._exit(0)


def run(script, answers):
    """Run a script under DebugMode; write its calls with the digests of their outputs."""
    from torch.utils._debug_mode import DebugMode

    source = compile(script.read_text(), str(script), "exec")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        DebugMode() as mode,
        DebugMode.log_tensor_hashes(hash_fn=list(DIGESTS)),
    ):
        exec(source, {"__name__": "__main__"})
    calls = [(str(getattr(log, "op", log)), (log.log or {}).get("hash")) for log in mode.logs]
    json.dump(calls, answers, default=repr)


if __name__ == "__main__":
    main()
