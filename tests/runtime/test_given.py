"""Python runs instrumented code in the place of the program's files, which everybody else reads as they are."""

from __future__ import annotations

import ast
import json
import os
import textwrap
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from programs import Outcome, Run

from deviate.instrument.edits import Edit
from deviate.instrument.overlay import instrument_source
from deviate.instrument.sites import span_of

Both = Callable[..., Outcome]

LOSSES = """\
import sys
def step(k):
    loss = 1 / (k + 1)
    print(f"loss {loss:.3f}")
    return k
for k in range(3):
    step(k)
"""


def wrap_losses(source: bytes) -> tuple[bytes, str]:
    """Record every use of the name ``loss``; return the text and by how much its columns moved."""
    uses = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id == "loss")
    edits = [Edit(span=span_of(use), before="__dv__(0, ") for use in uses if isinstance(use.ctx, ast.Load)]
    result = instrument_source(source, edits)
    assert result.done
    return result.data, json.dumps(result.columns)


@pytest.fixture
def both(run: Run, work: Path, tmp_path: Path) -> Both:
    """Run a program bare and with code given for its files; both must look the same. Return what was recorded."""

    def run_both(source: str, *words: str, files: dict[str, str] | None = None, **kwargs: Any) -> Outcome:
        source = textwrap.dedent(source)
        texts = {"program.py": source, **{name: textwrap.dedent(text) for name, text in (files or {}).items()}}
        given = {}
        for number, (name, text) in enumerate(texts.items()):
            if "loss" in text:
                place = tmp_path / f"{number}.py"
                data, columns = wrap_losses(text.encode())
                place.write_bytes(data)
                place.with_suffix(".json").write_text(columns)
                size, crc = len(text.encode()), zlib.crc32(text.encode())
                given[name] = {"text": str(place), "size": size, "crc": crc, "written": 0}

        def once(**config: Any) -> Outcome:
            for name, text in texts.items():
                (work / name).parent.mkdir(parents=True, exist_ok=True)
                (work / name).write_text(text, encoding="utf-8")
            return run(source, *words, **kwargs, **config)

        bare = once(runtime=False)
        seen = once(instrumented=given)
        assert (seen.stdout, seen.stderr, seen.status) == (bare.stdout, bare.stderr, bare.status)
        return seen

    return run_both


def test_a_script_is_run_as_python_runs_it(both: Both, python: str) -> None:
    seen = both(
        LOSSES
        + """
names = {name: value for name, value in globals().items() if name not in ('__builtins__', '__loader__')}
print(names.keys(), __file__, __name__, __spec__, __package__, __cached__, sys.argv, sys.path[0])
print(type(__loader__).__name__, vars(__loader__), __loader__.get_data(__file__) == open(__file__, 'rb').read())
print(sys._getframe().f_back, 'runpy' in sys.modules, len(sys.path_hooks), sys._getframe().f_locals is globals())
import atexit, traceback, warnings
atexit.register(lambda: print('__file__' in globals(), '__cached__' in globals()))
traceback.print_stack()
warnings.warn(f'old {k}')
""",
        python=python,
    )
    assert seen.values() == [1.0, 0.5, 1 / 3]


ENDS = {
    "sys.exit(3)": 3,
    "sys.exit('why')": 1,
    "raise KeyboardInterrupt": -2,
    "raise AttributeError('made')": 1,
    "sys.excepthook = lambda kind, error, trace: print('hook', kind, trace.tb_next); 1 / 0": 1,
}


@pytest.mark.parametrize("end", ENDS)
def test_a_script_ends_as_it_would(both: Both, python: str, end: str) -> None:
    assert both(LOSSES + end, python=python).status == ENDS[end]


def test_tracebacks_mark_what_failed(both: Both, python: str) -> None:
    seen = both(
        """
        import other, traceback
        def show(function, *words):
            try:
                function(*words)
            except Exception:
                traceback.print_exc()
        def first(loss): return int(loss) + loss.bar.baz(loss, [loss]) + (loss)
        def second(loss): print("ü", loss, f"{loss / 0:.3f} {loss}", loss)
        def third(loss):
            return (loss +
                loss.nothing(loss,
                    loss) + loss)
        for function in (first, second, third, other.fail):
            show(function, 2)
        first(other.fail([0]) + other.fail(2))
        """,
        files={"other.py": "def fail(loss): return (loss, loss)[loss] + loss\n"},
        python=python,
    )
    assert seen.status == 1
    assert "__dv" not in seen.stderr


def test_every_reader_gets_the_text_of_the_author(both: Both) -> None:
    both(
        """
        import hashlib, importlib.util, inspect, linecache, mmap, os, pathlib, pkgutil, shutil, subprocess, tokenize
        import other
        def own(loss):
            return loss + 1
        def digest(data):
            return hashlib.sha256(data).hexdigest()
        path = os.path.abspath(__file__)
        print(subprocess.check_output(['sha256sum', path]), os.stat(path).st_size)
        with open(path, 'rb') as file:
            print(digest(file.read()), digest(os.pread(file.fileno(), 10**6, 0)))
            print(digest(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)[:]))
        with tokenize.open(path) as file:
            print(digest(file.read().encode()), digest(pathlib.Path(path).read_bytes()))
        print(inspect.getsource(own), inspect.getsource(other), inspect.getsource(other.Kept))
        print(linecache.getline(path, 5))
        print(other.__loader__.get_source('other'), other.__loader__.get_data(other.__file__), other.__spec__.origin)
        loader = importlib.util.find_spec('package.part').loader
        print(pkgutil.get_data('package', 'part.py'), loader.get_source('package.part'))
        copied = shutil.copytree('.', f'../copied-{os.getpid()}')
        print(digest(pathlib.Path(copied, 'program.py').read_bytes()), sorted(os.listdir('.')))
        """,
        files={
            "other.py": "class Kept:\n    def f(self, loss):\n        return [loss, lambda loss: loss]\n",
            "package/__init__.py": "",
            "package/part.py": "loss = 1\nprint(loss)\n",
        },
    )


def test_modules_and_scripts_that_others_run_record(both: Both, python: str) -> None:
    seen = both(
        """
        import importlib, multiprocessing, os, runpy, subprocess, sys
        def work(k):
            loss = k
            print('loss', loss, __name__, flush=True)
        if __name__ == '__main__' and len(sys.argv) == 1:
            for method in ('spawn', 'forkserver', 'fork'):
                child = multiprocessing.get_context(method).Process(target=work, args=(method == 'fork',))
                child.start(), child.join()
            import other
            importlib.reload(other)
            runpy.run_path('other.py'), runpy.run_module('package', run_name='__main__')
            print(subprocess.run([sys.executable, '-m', 'package']).returncode, flush=True)
            os.execv(sys.executable, [sys.executable, *sys.argv, 'again'])
        work(7)
        """,
        files={
            "other.py": "loss = 3\nprint('loss', loss, __name__, __file__, flush=True)\n",
            "package/__init__.py": "",
            "package/__main__.py": "loss = 4\nprint('loss', loss, __name__, __spec__.origin, flush=True)\n",
        },
        python=python,
    )
    # Both ways of starting an interpreter run the script as a module, with the call at its end.
    assert sorted(seen.values()) == [0.0, 0.0, 1.0, 3.0, 3.0, 3.0, 4.0, 4.0, 7.0, 7.0, 7.0]


@pytest.mark.parametrize("words", [("-m", "package", "a"), ("package", "a"), ("-O", "-W", "error", "program.py")])
def test_other_ways_to_start(both: Both, words: tuple[str, ...]) -> None:
    files = {
        "package/__init__.py": "",
        "package/__main__.py": LOSSES + "print(__spec__.origin, sys.argv, sys.path[0])\n1/0\n",
    }
    assert both(LOSSES + "assert False\n", *words, files=files).values() == [1.0, 0.5, 1 / 3]


def test_a_tool_that_runs_the_script_itself_runs_what_records(both: Both) -> None:
    source = "from __future__ import annotations\n" + LOSSES + "print(compile('1 / 2', 'x', 'eval').co_flags)\n"
    assert both(source, "-m", "cProfile", "-o", "profile", "program.py").values() == [1.0, 0.5, 1 / 3]


def test_a_file_that_the_program_rewrote_runs_as_it_is(both: Both) -> None:
    seen = both(
        """
        import importlib, os, other
        with open('other.py') as file:
            text = file.read()
        with open('other.py', 'w') as file:
            file.write(text.replace('2', '5'))
        os.utime('other.py', (1, 1))
        importlib.reload(other)
        with open('other.py', 'w') as file:
            file.write(text)
        importlib.reload(other)
        """,
        files={"other.py": "loss = 2\nprint(loss)\n"},
    )
    assert seen.values() == [2.0, 2.0]


def test_what_does_not_compile_says_so_itself(both: Both, run: Run, work: Path, python: str) -> None:
    (work / "broken.py").write_text("loss = (\n")
    seen = both(LOSSES + "import broken\n", python=python)
    assert seen.values() == [1.0, 0.5, 1 / 3]
    newer = both(LOSSES + "match = 1\nmatch loss:\n    case 1: pass\n", python=python)
    assert newer.notes("code-not-given") or newer.values()


def test_code_is_compiled_once_for_all_processes(both: Both, tmp_path: Path) -> None:
    source = "import other, subprocess, sys\nif len(sys.argv) == 1: subprocess.call([sys.executable, __file__, '1'])\n"
    assert both(source, files={"other.py": "loss = 2\nprint(loss, flush=True)\n"}).values() == [2.0, 2.0]
    (kept,) = tmp_path.glob("1.*-0")
    assert os.stat(kept).st_size
