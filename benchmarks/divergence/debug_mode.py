"""What the two digests of PyTorch's DebugMode see of the faults that lie in an operation, beside `run.py`.

    python benchmarks/divergence/debug_mode.py [NAMES]

Each script runs twice under DebugMode, in processes that are forked from one. The calls are compared as its
`check_hash_mismatches` does: two sequences of other calls are no comparison; else the first call whose outputs have
another digest is what it names. One JSON object is printed.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import torch._dynamo
import torch.utils.data  # noqa: F401
from torch.utils._debug_mode import DebugMode

FAULTS = Path(__file__).parent / "faults"
DIGESTS = ("norm", "hash_tensor")


def main():
    """Try both digests on each fault."""
    names = sys.argv[1:] or sorted(folder.name for folder in FAULTS.iterdir())
    results = {}
    for name in names:
        expected = json.loads((FAULTS / name / "expected.json").read_text())
        if expected.get("kind") == "operation":
            results[name] = {digest: verdict(FAULTS / name, expected["operation"], digest) for digest in DIGESTS}
            print(name, results[name], file=sys.stderr)
    print(json.dumps({"schema": 1, "faults": results}))


def verdict(folder, operation, digest):
    """Return ``right``, ``wrong``, ``not seen`` or ``not compared``."""
    first, second = (calls(folder / "fault.py", digest) for _ in range(2))
    if [name for name, _ in first] != [name for name, _ in second]:
        return "not compared"
    named = next((name for (name, ours), (_, theirs) in zip(first, second, strict=True) if ours != theirs), None)
    if named is None:
        return "not seen"
    return "right" if operation.replace("fault.", "fault::") in named or operation in named else "wrong"


def calls(script, digest):
    """Return the calls of one run with the digests of their outputs, from a process of its own."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with open(reader, encoding="utf-8") as answers:
            text = answers.read()
        os.waitpid(child, 0)
        return [tuple(call) for call in json.loads(text)]
    try:
        os.close(reader)
        found = []
        source = compile(script.read_text(), str(script), "exec")
        with (
            contextlib.redirect_stdout(io.StringIO()),
            DebugMode() as mode,
            DebugMode.log_tensor_hashes(hash_fn=digest),
        ):
            exec(source, {"__name__": "__main__"})
            found = [(str(getattr(log, "op", log)), repr((log.log or {}).get("hash"))) for log in mode.logs]
        with open(writer, "w", encoding="utf-8") as answers:
            json.dump(found, answers)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
