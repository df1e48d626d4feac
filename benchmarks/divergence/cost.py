"""What the rungs of `deviate diverge` cost in processor time, as ratios: pairs of trainings, with and without in turn.

    python benchmarks/divergence/cost.py step|operation [EXAMPLES] [-n PAIRS]

The step rung against the same training under control, whole; the operation rung, with its lines, against the step rung
in the updates that it records. Trainings are forked from a process that has imported their frameworks. One JSON object
is printed.
"""

import argparse
import atexit
import importlib
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import forked

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
COMMANDS = {
    "digits_mlp": ["train.py", "--epochs", "8"],
    "digits_cnn": ["main.py", "--epochs", "8"],
    "keras_fit": ["train_keras.py", "--epochs", "8"],
    "jax_loop": ["diabetes.py"],
    "large_cnn": ["large.py", "cnn"],
    "large_transformer": ["large.py", "transformer"],
}
#: What each imports, and its process has imported before it is forked.
FRAMEWORKS = {"jax_loop": ["jax.numpy"], "keras_fit": ["keras"]}
#: Updates of one epoch.
WINDOW = (24, 40)
STEP, OPERATION = {}, {"record": ["update", *WINDOW]}


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rung", choices=("step", "operation"))
    parser.add_argument("examples", nargs="*", default=["digits_mlp", "digits_cnn"])
    parser.add_argument("-n", "--pairs", type=int, default=15)
    options = parser.parse_args()
    # Of more threads the time that they wait for each other would count.
    os.environ["OMP_NUM_THREADS"] = "1"
    found = {name: in_a_process(name, options) for name in options.examples}
    print(json.dumps({"schema": 1, "rung": options.rung, "examples": found}))


def in_a_process(name, options):
    """Return the ratios of one example, from a process that imports what it needs and no more."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, json.dumps(measured(name, options.rung, options.pairs)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text)


def measured(name, rung, pairs):
    """Return the ratios of pairs of trainings of an example."""
    for framework in FRAMEWORKS.get(name, ["torch.utils.data", "torch._dynamo"]):
        importlib.import_module(framework)
    importlib.import_module("sklearn.datasets")
    from deviate.probes.trial import open_trials
    from deviate.runs.executors.executor import DEFAULT_EXECUTOR, make_executor
    from deviate.runs.prepared import prepare_request
    from deviate.runs.request import Request

    forked.fork_trainings()
    if rung == "operation":
        time_updates()
    with tempfile.TemporaryDirectory() as project:
        if name.startswith("large"):
            shutil.copy(HERE / "large.py", project)
        else:
            shutil.copytree(EXAMPLES / name, project, dirs_exist_ok=True)
        os.chdir(project)
        prepared = prepare_request(Request(command=["python", *COMMANDS[name]]), scripted=False)
        with open_trials(prepared, make_executor(DEFAULT_EXECUTOR, 1), ["diverge"], ["control"]) as trials:
            times = [both_times(trials, rung, pair) for pair in range(pairs + 1)]
    # The first pair fills what is cached.
    found = summary([changed / plain for plain, changed in times[1:]])
    updates = WINDOW[1] - WINDOW[0]
    return dict(found, step_ms=round(1000 * min(times)[0] / updates, 1)) if rung == "operation" else found


def summary(ratios):
    """Return the ratios with their median and the distribution-free interval of it at 95 % or more."""
    ordered = sorted(ratios)
    # Binomial order statistics.
    below = max(round(len(ratios) / 2 - 0.98 * len(ratios) ** 0.5) - 1, 0)
    interval = [round(ordered[place], 3) for place in (below, -1 - below)]
    return {"median": round(statistics.median(ratios), 3), "interval": interval, "pairs": [round(r, 3) for r in ratios]}


def both_times(trials, rung, pair):
    """Return the processor times of a training without a rung and of one with it, every other pair in this order."""
    orders = [STEP, OPERATION] if rung == "operation" else [None, STEP]
    times = {}
    for place in (0, 1) if pair % 2 else (1, 0):
        times[place] = seconds(trials, 2 * pair + place, orders[place], rung)
    return times[0], times[1]


def seconds(trials, index, order, rung):
    """Return the processor time of one training, or of its updates in the window."""
    from deviate.core.experiment import Run
    from deviate.probes.diverge import VARIABLE

    variables = {} if order is None else {VARIABLE: json.dumps(order)}
    trial = trials.prepare(Run(variant="control", index=index), variables)
    trial.outcome(trial.watch(600, trials.stop, lambda _: False))
    if rung == "step":
        return trial.usage.ru_utime + trial.usage.ru_stime
    times = json.loads((trial.ready.folder.path / "updates.json").read_text())
    return times[WINDOW[1]] - times[WINDOW[0]]


def time_updates():
    """Have trainings note their processor time at each update."""
    from deviate_runtime.diverging import Updates

    plain, times = Updates.before_update, []

    def before_update(updates, *args):
        if not times:
            folder = Path(os.environ["DEVIATE_RUNTIME"]).parent
            atexit.register(lambda: (folder / "updates.json").write_text(json.dumps(times)))
        plain(updates, *args)
        times.append(time.process_time())

    Updates.before_update = before_update


if __name__ == "__main__":
    main()
