"""Trainings that are forked from one process that has imported their frameworks: a search in a second, not a minute.

A training sees the same runtime, environment and folder as one that `deviate diverge` starts; what it does not see is a
start of its own, so faults that lie in it, such as hashes of texts, are searched for without this.
"""

import atexit
import json
import os
import signal
import sys
import time
import traceback
import types

from deviate.probes.trial import Trial
from deviate.runs.environment import INJECTED
from deviate.store.run_files import Ended

LOOK_EVERY = 0.1


def fork_trainings():
    """Have all trials of this process forked from it from now on."""
    sys.path.insert(0, str(INJECTED))
    # Nothing of it is started; a training then only has to.
    import deviate_runtime
    import deviate_runtime.diverging
    import deviate_runtime.diverging.lines
    import deviate_runtime.diverging.operations
    import deviate_runtime.process
    import deviate_runtime.streams.streams
    import deviate_runtime.streams.torch.random

    deviate_runtime.process = None
    Trial.watch = watch
    Trial.outcome = outcome


def watch(trial, limit, stop, is_complete):
    """Stand for `Trial.watch`."""
    launch, began = trial.ready.launch, time.monotonic()
    child = os.fork()
    if child == 0:
        train(launch)
    while True:
        ended, status, trial.usage = os.wait4(child, os.WNOHANG)
        seconds = time.monotonic() - began
        if ended:
            trial.status = os.waitstatus_to_exitcode(status)
            return Ended(status=trial.status, cause=None, seconds=seconds)
        if seconds > limit or is_complete(seconds):
            trial.end_reason, trial.status = "limit" if seconds > limit else "all seen", 0
            os.killpg(child, 9)
            os.waitpid(child, 0)
            return Ended(status=None, cause="killed", seconds=seconds)
        time.sleep(LOOK_EVERY)


def outcome(trial, ended):
    """Stand for `Trial.outcome`, where a failed training is an error of the benchmark."""
    if trial.status:
        log = trial.ready.folder.path / "forked.log"
        raise RuntimeError(f"a training failed:\n{log.read_text()}")


def train(launch):
    """Be the training, in a forked child."""
    status = 1
    # What the benchmark would do at its end, or at a signal, is none of a training's business.
    atexit._clear()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.setpgid(0, 0)
        os.environ.clear()
        os.environ.update(launch.environment)
        os.chdir(launch.cwd)
        folder = os.path.dirname(launch.environment["DEVIATE_RUNTIME"])
        log = os.open(os.path.join(folder, "forked.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        script = next(i for i, word in enumerate(launch.argv) if word.endswith(".py"))
        sys.argv = list(launch.argv[script:])
        sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
        import deviate_runtime
        from deviate_runtime.streams.callers import Callers

        # The frames that the training is forked in are no part of its program.
        Callers.is_program_file = is_in_overlay
        deviate_runtime.start()
        run_script(sys.argv[0], launch.environment["DEVIATE_RUNTIME"])
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.settrace(None)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(status)


def is_in_overlay(callers, file, module):
    """Stand for `Callers.is_program_file`."""
    return not file.startswith("<") and os.path.abspath(file).startswith(callers.overlay)


def run_script(script, runtime_file):
    """Run the script with the instrumented text that the runtime would give to Python."""
    with open(runtime_file, encoding="utf-8") as file:
        given = json.load(file)["instrumented"].get(script)
    with open(given["text"] if given else script, encoding="utf-8") as file:
        text = file.read()
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    path = module.__file__ = os.path.abspath(script)
    exec(compile(text, path, "exec"), vars(module))
