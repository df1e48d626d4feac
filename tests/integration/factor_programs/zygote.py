"""Run programs with the runtime in them, each in a fork of this process, which has imported their libraries.

Input: modules to import as arguments; a job a line, ``{"runtime", "program", "words", "folder", "output"}``. Output: a
line with the exit status of each job, in order.
"""

import importlib
import json
import os
import runpy
import sys
import traceback


def run(job):
    sys.stdout.flush()
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(job["folder"])
    seed_as_started()
    os.environ["DEVIATE_RUNTIME"] = job["runtime"]
    import deviate_runtime

    deviate_runtime.start()
    sys.argv = [job["program"], *job["words"]]
    sys.path.insert(0, os.path.dirname(job["program"]))
    runpy.run_path(job["program"], run_name="__main__")


def seed_as_started():
    """Seed from the system what a process of its own would have seeded from it."""
    for name, seed in (("numpy.random", "seed"), ("torch", "seed")):
        if name in sys.modules:
            getattr(sys.modules[name], seed)()


def fork(job):
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        # The main module is the program's: workers that are spawned import it.
        run(job)
        status = 0
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:  # noqa: BLE001 - whatever ends the program is its own affair
        traceback.print_exc()
    finally:
        import atexit

        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


for name in sys.argv[1:]:
    importlib.import_module(name)
for line in sys.stdin:
    jobs = json.loads(line)
    running = []
    for job in jobs:
        if len(running) == (os.cpu_count() or 1):
            os.waitpid(running.pop(0), 0)
        running.append(fork(job))
    for child in running:
        os.waitpid(child, 0)
    print("done", flush=True)
