"""Code that runs though nothing calls it by its name: entries of libraries, plug-ins, tables, functions passed on."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysed_projects import HEAD, STEP, analyse, names, write

from deviate.source.analysis import analyse_project

BODY = "".join(f"        {line}\n" for line in (*STEP.strip().splitlines(), "print('loss', loss.item())"))
#: A function that trains, and a class whose method does.
TRAIN = "    for x, y in loader:\n" + BODY
TRAINER = "class Trainer:\n    def __init__(self, *args): pass\n    def fit(self):\n" + "".join(
    f"    {line}\n" for line in TRAIN.splitlines()
)
PARSED = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--name')\nargs = p.parse_args()\n"

ENTRIES = {
    "tf.app.run": "import tensorflow as tf\ndef main(_):\n" + TRAIN + "tf.app.run()\n",
    "absl": "from absl import app\ndef main(_):\n" + TRAIN + "app.run(main)\n",
    "fire without a component": "import fire\ndef train(n=3):\n" + TRAIN + "fire.Fire()\n",
    "fire with a class": "import fire\n" + TRAINER + "fire.Fire(Trainer)\n",
    "fire with an object": "import fire\n" + TRAINER + "trainer = Trainer()\nfire.Fire(trainer)\n",
    "jsonargparse": "from jsonargparse import CLI\n" + TRAINER + "CLI(Trainer)\n",
    "sacred": "from sacred import Experiment\nex = Experiment()\n@ex.automain\ndef run(_run):\n" + TRAIN,
    "click": "import click\n@click.command()\ndef main():\n" + TRAIN + "main()\n",
    "partial": "import functools\ndef train(n):\n" + TRAIN + "functools.partial(train, 3)()\n",
    "closure": "def make():\n    def train():\n"
    + "".join(f"    {line}\n" for line in TRAIN.splitlines())
    + "    return train\nmake()()\n",
    "globals": TRAINER + PARSED + "globals()[args.name]().fit()\n",
    "eval of a name": TRAINER + PARSED + "eval(args.name)().fit()\n",
}


@pytest.mark.parametrize("text", ENTRIES.values(), ids=ENTRIES.keys())
def test_what_a_library_or_a_computed_name_starts_is_read(tmp_path, text):
    findings = analyse(tmp_path, train=HEAD + text)
    assert names(findings) == {"loss": "value"}
    assert findings.main_loop is not None


CHOSEN = {
    "import_module": "import importlib\nimportlib.import_module('plugins.' + args.name).Trainer().fit()\n",
    "getattr of a package": "import plugins\ngetattr(plugins, args.name)().fit()\n",
    "eval of a format": "from plugins import *\neval('{0}.Trainer'.format(args.name))().fit()\n",
    "table of decorators": "from plugins import build\nbuild(args.name).fit()\n",
}
PACKAGE = """
import glob, os
__all__ = [os.path.basename(f)[:-3] for f in glob.glob(os.path.dirname(__file__) + '/*.py')]
TABLE = {}
def register(cls):
    TABLE[cls.__name__] = cls
    return cls
def build(name):
    return TABLE[name]()
from .basic import *
"""


@pytest.mark.parametrize("text", CHOSEN.values(), ids=CHOSEN.keys())
def test_classes_that_are_chosen_by_name_are_read(tmp_path, text):
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "__init__.py").write_text(PACKAGE, encoding="utf-8")
    plugin = "from . import register\n" + HEAD + TRAINER.replace("class", "@register\nclass")
    findings = analyse(tmp_path, train=PARSED + text, plugins__basic=plugin)
    assert names(findings) == {"loss": "value"}


def test_a_class_that_a_text_names_is_read(tmp_path):
    train = (
        "import importlib\nsettings = dict(class_name='trainers.basic.Trainer')\n"
        "package, _, name = settings['class_name'].rpartition('.')\n"
        "getattr(importlib.import_module(package), name)().fit()\n"
    )
    assert names(analyse(tmp_path, train=train, trainers__basic=HEAD + TRAINER)) == {"loss": "value"}


def test_what_plug_ins_report_that_may_not_be_chosen_is_not_selected(tmp_path):
    model = "class {0}:\n    def step(self, x):\n        print('{0} loss', float(x.mean()))\n        return x.mean()\n"
    train = HEAD + (
        "import importlib, argparse\np = argparse.ArgumentParser()\np.add_argument('--net', default='second')\n"
        "net = getattr(importlib.import_module('nets.' + p.parse_args().net), 'Net')()\n"
        "for epoch in range(2):\n    for x, y in loader:\n        loss = net.step(model(x))\n"
        "        loss.backward()\n        optimizer.step()\n"
    )
    nets = {f"nets__{name}": model.format("Net").replace("'Net", f"'{name}") for name in ("first", "second", "third")}
    findings = analyse(tmp_path, train=train, **nets)
    assert [metric.name for metric in findings.metrics if metric.selected] == ["second loss"]
    assert {metric.name for metric in findings.metrics} == {"first loss", "second loss", "third loss"}


def test_methods_that_every_object_overrides_do_not_run(tmp_path):
    classes = (
        "class Base:\n    def show(self, loss):\n        print('base loss', loss.item())\n"
        "class Mine(Base):\n    def show(self, loss):\n        print('my loss', loss.item())\n"
        "mine = Mine()\n"
    )
    step = "".join(f"    {line}\n" for line in STEP.strip().splitlines())
    findings = analyse(tmp_path, train=HEAD + classes + f"for x, y in loader:\n{step}    mine.show(loss)\n")
    assert [metric.name for metric in findings.metrics] == ["my loss"]


def test_a_search_path_that_a_function_extends_is_followed(tmp_path):
    paths = (
        "import os, sys\ndef add(path):\n    sys.path.insert(0, path)\n"
        "add(os.path.join(os.path.dirname(__file__), 'lib'))\n"
    )
    train = "import paths\nfrom training import Trainer\nTrainer().fit()\n"
    findings = analyse(tmp_path, train=train, paths=paths, lib__training=HEAD + TRAINER)
    assert findings.main_loop is not None
    assert findings.main_loop.file == "lib/training.py"
    assert names(findings) == {"loss": "value"}


def test_a_function_that_is_passed_on_reports_what_it_is_given(tmp_path):
    before = "def show(text):\n    print('[run]', text)\ndef fit(report):\n" + TRAIN.replace(
        "print('loss', loss.item())", "report('loss %.3f' % loss.item())"
    )
    assert names(analyse(tmp_path, train=HEAD + before + "fit(show)\n")) == {"loss": "value"}


REGISTERED = """
class Factory:
    makers = {}
    def register_maker(self, key, maker):
        self.makers[key] = maker
    def make(self, key):
        return self.makers[key]()
factory = Factory()
factory.register_maker('first', lambda: First())
factory.register_maker('second', lambda: Second())
factory.make(args.kind).fit()
"""


def test_of_what_calls_register_by_a_key_the_one_that_settings_name_is_read(tmp_path):
    classes = "".join(
        TRAINER.replace("Trainer", name).replace("'loss", f"'{name} loss") for name in ("First", "Second")
    )
    option = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--kind', default='second')\n"
    findings = analyse(tmp_path, train=HEAD + classes + option + "args = p.parse_args()\n" + REGISTERED)
    assert [metric.name for metric in findings.metrics if metric.selected] == ["Second loss"]


def test_of_classes_that_are_registered_the_one_that_the_entry_names_is_read(tmp_path):
    plugins = "TABLE = {}\ndef register(name):\n    return lambda cls: TABLE.setdefault(name, cls)\n" + HEAD
    for name in ("First", "Second"):
        text = TRAINER.replace("Trainer", name).replace("'loss", f"'{name} loss")
        plugins += f"@register('{name.lower()}')\n{text}"
    train = "import plugins, json\nplugins.TABLE[json.load(open('x')).get('kind', 'second')]().fit()\n"
    findings = analyse(tmp_path, train=train, plugins=plugins)
    assert [metric.name for metric in findings.metrics if metric.selected] == ["Second loss"]


def test_a_flag_that_is_read_through_what_declares_it_decides(tmp_path):
    text = HEAD + "from absl import app, flags\n_KIND = flags.DEFINE_enum('kind', 'second', ['first', 'second'], '')\n"
    for name in ("first", "second"):
        text += f"def {name}():\n" + TRAIN.replace("'loss", f"'{name} loss")
    text += "def main(_):\n    if _KIND.value == 'first':\n        first()\n    elif _KIND.value == 'second':\n"
    text += "        second()\napp.run(main)\n"
    assert [metric.name for metric in analyse(tmp_path, train=text).metrics if metric.selected] == ["second loss"]


def test_words_that_fire_chains_are_asked_of_what_comes_before(tmp_path):
    text = "import fire\n" + TRAINER.replace("fit", "fit_all") + "class Kit:\n    def new(self):\n"
    text += "        return {'small': Trainer}\nfire.Fire(Kit())\n"
    findings = analyse_project(
        write(tmp_path, train=HEAD + text), Path("train.py"), arguments=["new", "small", "fit_all"]
    )
    assert names(findings) == {"loss": "value"}


def test_a_step_that_is_spread_over_devices_is_read(tmp_path):
    text = (
        "import jax\nfrom jax.experimental.pjit import pjit\ndef step(state, batch):\n"
        "    loss, grads = jax.value_and_grad(apply)(state.params, batch)\n"
        "    return state.apply_gradients(grads=grads), loss\nspread = pjit(step)\n"
        "for epoch in range(3):\n    state, loss = spread(state, next(batches))\n    print('loss', loss)\n"
    )
    findings = analyse(tmp_path, train=text)
    assert findings.trains
    assert names(findings) == {"loss": "value"}


COMMANDS = {
    "click": "import click\n@click.group()\ndef main(): pass\n@main.command()\ndef fit_all():\n{first}"
    "@main.command('tune')\ndef search():\n{second}main()\n",
    "argparse": "import argparse\np = argparse.ArgumentParser()\nparsers = p.add_subparsers()\ndef first():\n{first}"
    "def second():\n{second}one = parsers.add_parser('fit-all')\none.set_defaults(run=first)\n"
    "two = parsers.add_parser('tune')\ntwo.set_defaults(run=second)\np.parse_args().run()\n",
}


@pytest.mark.parametrize("text", COMMANDS.values(), ids=COMMANDS.keys())
@pytest.mark.parametrize(
    ("words", "reports"), [(["fit-all", "-n", "3"], {"fitted"}), (["tune"], {"tuned"}), ([], {"fitted", "tuned"})]
)
def test_of_several_commands_the_one_that_is_named_runs(tmp_path, text, words, reports):
    bodies = {"first": TRAIN.replace("'loss'", "'fitted loss'"), "second": TRAIN.replace("'loss'", "'tuned loss'")}
    folder = write(tmp_path, train=HEAD + text.format(**bodies))
    metrics = analyse_project(folder, Path("train.py"), (), words).metrics
    assert {metric.name.split()[0] for metric in metrics if metric.selected} == reports


@pytest.mark.parametrize(
    ("name", "reports"),
    [("predict_all", {"fitted"}), ("train_and_test", {"fitted", "tuned"}), ("tune", {"fitted", "tuned"})],
)
def test_of_several_commands_that_none_names_those_that_train_run(tmp_path, name, reports):
    text = COMMANDS["click"].replace("def search", f"def {name}")
    bodies = {"first": TRAIN.replace("'loss'", "'fitted loss'"), "second": TRAIN.replace("'loss'", "'tuned loss'")}
    metrics = analyse_project(write(tmp_path, train=HEAD + text.format(**bodies)), Path("train.py")).metrics
    assert {metric.name.split()[0] for metric in metrics if metric.selected} == reports


@pytest.mark.parametrize(("words", "reports"), [([], {"fitted"}), (["probe"], {"fitted", "probed"})])
def test_a_command_of_an_experiment_runs_where_it_is_named(tmp_path, words, reports):
    head = "from sacred import Experiment\nex = Experiment()\n@ex.command\ndef probe():\n"
    text = head + "{second}@ex.automain\ndef fit():\n"
    second = TRAIN.replace("'loss'", "'probed loss'")
    folder = write(tmp_path, train=HEAD + text.format(second=second) + TRAIN.replace("'loss'", "'fitted loss'"))
    metrics = analyse_project(folder, Path("train.py"), (), words).metrics
    assert {metric.name.split()[0] for metric in metrics if metric.selected} == reports


def test_of_the_functions_that_are_installed_as_programs_one_is_started(tmp_path):
    """Without a command it is that of the training; a program that is imported runs nothing under its main guard."""
    (tmp_path / "pyproject.toml").write_text(
        '[project.scripts]\nkit-train = "cli:train_main"\nkit-rank = "cli:rank_main"\n'
    )
    body = "    for epoch in range(3):\n        for x, y in loader:\n" + textwrap.indent(STEP.strip(), " " * 12)
    text = HEAD + "".join(
        f"def {name}_main():\n{body}\n        print('{name} loss', loss.item())\n" for name in ("rank", "train")
    )
    write(tmp_path, cli=text)

    def losses(**started):
        findings = analyse_project(tmp_path, Path("cli.py"), **started)
        return {metric.name for metric in findings.metrics if metric.selected}

    assert losses() == {"train loss"}
    assert losses(function="rank_main") == {"rank loss"}
    write(tmp_path, cli=text + "if __name__ == '__main__':\n    rank_main()\n")
    assert losses() == {"rank loss"}
    assert losses(function="train_main") == {"train loss"}
