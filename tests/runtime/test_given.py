"""Python runs instrumented code in the place of the program's files, which everybody else reads as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from programs import Both, Run

LOSSES = """\
import sys
def step(k):
    loss = 1 / (k + 1)
    print(f"loss {loss:.3f}")
    return k
for k in range(3):
    step(k)
"""


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
