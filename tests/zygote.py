"""Run programs, each in a fork of this process, which has imported their libraries.

Arguments: the number of a socket that listens, and modules to import. Each that connects sends lines of jobs, lists of
``{"runtime", "program", "words", "folder", "output", "errors"}``, of which ``runtime`` is null for a program without
the runtime in it, and where ``variables`` of its environment and folders of a ``path`` may be given, and gets a line
with the exit statuses of the jobs, in order. The process ends when nobody is connected any more.
"""

import contextlib
import importlib
import json
import os
import runpy
import socket
import sys
import traceback


def run(job):
    sys.stdout.flush()
    for descriptor, path in ((1, job["output"]), (2, job["errors"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    os.chdir(job["folder"])
    os.environ.update(job.get("variables", {}))
    sys.path[:0] = job.get("path", [])
    seed_as_started()
    if job["runtime"] is not None:
        os.environ["DEVIATE_RUNTIME"] = job["runtime"]
        import deviate_runtime

        deviate_runtime.start()
    sys.argv = [job["program"], *job["words"]]
    sys.path.insert(0, os.path.dirname(job["program"]))
    # As Python does: a script has an absolute name, whatever it was called by.
    runpy.run_path(os.path.abspath(job["program"]), run_name="__main__")


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
        if isinstance(status, str):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:  # noqa: BLE001 - whatever ends the program is its own affair
        traceback.print_exc()
    finally:
        import atexit

        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def run_all(jobs):
    """Return the exit status of each job; as many run side by side as there are cores."""
    running, statuses = [], []
    for job in jobs:
        if len(running) == (os.cpu_count() or 1):
            statuses.append(status_of(running.pop(0)))
        running.append(fork(job))
    return statuses + [status_of(child) for child in running]


def status_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def serve(listener):
    """Serve who connects, each in a fork of this process, until nobody is left."""
    serving = []
    while True:
        try:
            serving.append(fork_server(listener, listener.accept()[0]))
        except TimeoutError:
            serving = [child for child in serving if not os.waitpid(child, os.WNOHANG)[0]]
            if not serving:
                return


def fork_server(listener, connection):
    child = os.fork()
    if not child:
        try:
            listener.close()
            with connection.makefile("rw", encoding="utf-8") as lines:
                for line in lines:
                    print(json.dumps(run_all(json.loads(line))), file=lines, flush=True)
        finally:
            os._exit(0)
    connection.close()
    return child


def main():
    listener = socket.socket(fileno=int(sys.argv[1]))
    # Whoever starts this goes on at once.
    if os.fork():
        os._exit(0)
    for name in sys.argv[2:]:
        importlib.import_module(name)
    listener.settimeout(0.5)
    serve(listener)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(listener.getsockname())
    # Those who connected before are served still.
    serve(listener)
    os._exit(0)


main()
