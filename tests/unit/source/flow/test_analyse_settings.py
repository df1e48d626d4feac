"""What options, configuration files and constants decide: branches that are not taken, classes that are not chosen."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysed_projects import HEAD, STEP, names, write

from deviate.source.analysis import analyse_project
from deviate.source.settings.lookup import Arguments, words_after

TRAIN = "for epoch in range(3):\n    for x, y in loader:\n" + "".join(
    f"        {line}\n" for line in STEP.strip().splitlines()
)
REPORT = "        print('loss', loss.item())\n"
PARSER = "import argparse\np = argparse.ArgumentParser()\n{options}args = p.parse_args()\n"


def found(folder: Path, text: str, words: str | None) -> set[str]:
    """Analyse a script with the arguments of its command and name its metrics."""
    arguments = words.split() if words is not None else None
    return set(names(analyse_project(write(folder, train=text), Path("train.py"), (), arguments)))


def script(options: str, test: str) -> str:
    """Write a training that reports the norm of the gradient only where a test holds."""
    branch = f"        if {test}:\n            print('grad norm', model.weight.grad.norm())\n"
    return HEAD + PARSER.format(options=options) + TRAIN + REPORT + branch


NORM = "model.weight.grad"
SWITCH = "p.add_argument('--log-norm', action='store_true')\n"
LEVEL = "p.add_argument('--level', type=int, default=0)\n"
MODE = "p.add_argument('--mode', default='train')\n"
DECIDED = {
    "a switch that is not given": (SWITCH, "args.log_norm", "", False),
    "a switch that is given": (SWITCH, "args.log_norm", "--log-norm", True),
    "a switch that is shortened": (SWITCH, "args.log_norm", "--log", True),
    "a switch of a command that is not known": (SWITCH, "args.log_norm", None, True),
    "a default": (LEVEL, "args.level > 1", "", False),
    "a value": (LEVEL, "args.level > 1", "--level 2", True),
    "a value behind a sign": (LEVEL, "args.level > 1", "--level=2", True),
    "a text": (MODE, "args.mode == 'debug'", "--mode debug", True),
    "another text": (MODE, "args.mode in ('debug', 'all')", "--mode train", False),
    "a part that decides": (SWITCH + LEVEL, "args.log_norm and epoch > args.level", "", False),
    "a part that does not": (SWITCH + LEVEL, "args.log_norm or epoch > args.level", "", True),
    "a setting that the program changes": (SWITCH + "p.set_defaults(log_norm=True)\n", "args.log_norm", "", True),
    "an item": (SWITCH, "not vars(args)['log_norm']", "", True),
    "a position": ("p.add_argument('mode')\n", "args.mode == 'debug'", "train", False),
}


@pytest.mark.parametrize(("options", "test", "words", "runs"), DECIDED.values(), ids=DECIDED.keys())
def test_options_decide_which_branches_run(tmp_path, options, test, words, runs):
    assert (NORM in found(tmp_path, script(options, test), words)) is runs


def test_constants_and_what_all_calls_pass_decide_branches_of_any_command(tmp_path):
    text = (
        HEAD
        + "DEBUG = False\ndef step(x, y, verbose=False):\n"
        + "".join(f"    {line}\n" for line in STEP.strip().splitlines())
    )
    text += "    if verbose:\n        print('norm', model.weight.grad.norm())\n"
    text += "    if DEBUG:\n        print('mean', model.weight.grad.mean())\n    return loss.item()\n"
    loop = "for epoch in range(3):\n    for x, y in loader:\n        print('loss', step(x, y{given}))\n"
    assert len(found(tmp_path, text + loop.format(given=""), None)) == 1
    assert len(found(tmp_path, text + loop.format(given=", verbose=True"), None)) == 2
    assert len(found(tmp_path, text + loop.format(given=", **options"), None)) == 2


MODELS = """
class Small:
    def fit(self, loss): print('small loss', loss.item())
class Large:
    def fit(self, loss): print('large loss', loss.item(), 'penalty', loss.item() * 2)
TABLE = {'small': Small, 'large': Large}
"""
FIT = "        model_of_name.fit(loss)\n"
CHOICE = "p.add_argument('--name', default='small')\n"
TAKEN = {
    "a table": "from models import TABLE\nmodel_of_name = TABLE[args.name]()\n",
    "a table of a module beside one of its name": "import models, others\nfrom others import Third\n"
    "other = others.TABLE[args.other]\nmodel_of_name = models.TABLE[args.name]()\n",
    "a table that is asked": "import models\nmodel_of_name = models.TABLE.get(args.name)()\n",
    "a function": "import models\ndef build(name):\n    assert name in models.TABLE\n    return models.TABLE[name]()\n"
    "model_of_name = build(args.name)\n",
    "a function of words": "import models\nmodel_of_name = models.TABLE[args.name.lower()]()\n",
}


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN.keys())
def test_only_the_entry_of_a_table_that_is_chosen_runs(tmp_path, taken):
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "others.py").write_text("from data import First, Third\nTABLE = {'a': First, 'b': Third}\n")
    (tmp_path / "data.py").write_text("class First: pass\nclass Third: pass\n")
    text = HEAD + PARSER.format(options=CHOICE) + taken + TRAIN + FIT

    def files(words: str | None) -> set[int]:
        findings = analyse_project(write(tmp_path, train=text), Path("train.py"), (), words and words.split())
        return {metric.line for metric in findings.metrics if metric.selected}

    assert files(None) == {3}, "the default, where no command is known"
    assert files("--name large") == {5}


def test_tables_of_one_name_are_told_apart_by_their_modules(tmp_path):
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "tasks.py").write_text("class A: pass\nclass B: pass\nTABLE = {'a': A, 'b': B}\n", encoding="utf-8")
    taken = "import models, tasks\nmodel_of_name = models.TABLE[args.name]()\ntask = tasks.TABLE[input()]()\n"
    text = HEAD + PARSER.format(options=CHOICE) + taken + TRAIN + FIT
    findings = analyse_project(write(tmp_path, train=text), Path("train.py"))
    assert {metric.line for metric in findings.metrics if metric.selected} == {3}


def test_a_table_that_is_walked_through_runs_whole(tmp_path):
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    walk = (
        "from models import TABLE\nmodel_of_name = TABLE[args.name]()\nothers = [made() for made in TABLE.values()]\n"
    )
    text = HEAD + PARSER.format(options=CHOICE) + walk + TRAIN + FIT + "        others[i].fit(loss)\n"
    findings = analyse_project(write(tmp_path, train=text), Path("train.py"))
    assert {metric.line for metric in findings.metrics if metric.selected} == {3, 5}


def test_an_option_of_optparse_chooses(tmp_path):
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    parser = "import optparse\np = optparse.OptionParser()\n"
    option = "p.add_option('-n', '--name', type='string', default='small')\noptions, _ = p.parse_args()\n"
    taken = "from models import TABLE\nmodel_of_name = TABLE[options.name]()\n"
    text = HEAD + parser + option + taken + TRAIN + FIT
    for words, lines in (([], {3}), (["-n", "large"], {5})):
        findings = analyse_project(write(tmp_path, train=text), Path("train.py"), (), words)
        assert {metric.line for metric in findings.metrics if metric.selected} == lines


def test_what_is_assigned_to_a_copy_of_the_settings_does_not_change_them(tmp_path):
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    copied = "import copy\nshort_args = copy.deepcopy(args)\nshort_args.name = input()\n"
    text = HEAD + PARSER.format(options=CHOICE) + copied + TAKEN["a table"] + TRAIN + FIT
    findings = analyse_project(write(tmp_path, train=text), Path("train.py"), (), [])
    assert {metric.line for metric in findings.metrics if metric.selected} == {3}


TWO = {
    "a text": "chosen = Large if args.name == 'large' else Small\nmodel_of_name = chosen()\n",
    "another setting": "BIG = {'large': 1, 'huge': 2}\nargs.is_big = args.name in BIG.keys()\n"
    "model_of_name = Large() if args.is_big else Small()\n",
}


def test_a_setting_that_only_a_function_computes_which_nothing_calls_is_not_known(tmp_path):
    (tmp_path / "models.py").write_text(MODELS.partition("TABLE")[0], encoding="utf-8")
    chosen = "def grow():\n    args.is_big = True\nmodel_of_name = Large() if args.is_big else Small()\n"
    text = HEAD + PARSER.format(options=CHOICE) + "from models import Large, Small\n" + chosen + TRAIN + FIT
    for called, lines in (("", {3, 5}), ("grow()\n", {5})):  # where neither is known to run, both are read
        findings = analyse_project(write(tmp_path, train=text + called), Path("train.py"), (), [])
        assert {metric.line for metric in findings.metrics if metric.selected} == lines


@pytest.mark.parametrize("chosen", TWO.values(), ids=TWO.keys())
def test_of_two_classes_that_a_condition_chooses_from_one_runs(tmp_path, chosen):
    (tmp_path / "models.py").write_text(MODELS.partition("TABLE")[0], encoding="utf-8")
    text = HEAD + PARSER.format(options=CHOICE) + "from models import Large, Small\n" + chosen + TRAIN + FIT
    for words, lines in (([], {3}), (["--name", "large"], {5})):
        findings = analyse_project(write(tmp_path, train=text), Path("train.py"), (), words)
        assert {metric.line for metric in findings.metrics if metric.selected} == lines


@pytest.mark.parametrize("documented", ["", "python train.py --name large\n\npython train.py --name small\n"])
def test_an_entry_of_a_table_that_documents_name_differently_is_the_default(tmp_path, documented):
    (tmp_path / "README.md").write_text(documented, encoding="utf-8")
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    text = HEAD + PARSER.format(options=CHOICE) + TAKEN["a table"] + TRAIN + FIT
    findings = analyse_project(write(tmp_path, train=text), Path("train.py"))
    assert {metric.line for metric in findings.metrics if metric.selected} == {3}


def test_where_documents_assign_a_setting_differently_the_first_command_counts(tmp_path):
    (tmp_path / "README.md").write_text("python train.py name=large\n\npython train.py name=small\n")
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    taken = "from models import TABLE\nmodel_of_name = TABLE[cfg.name]()\n"
    findings = analyse_project(write(tmp_path, train=HEAD + taken + TRAIN + FIT), Path("train.py"))
    assert {metric.line for metric in findings.metrics if metric.selected} == {5}


@pytest.mark.parametrize("form", ["getattr(models, args.name)", "models.__dict__[args.name]"])
def test_only_what_a_known_name_stands_for_in_a_module_runs(tmp_path, form):
    (tmp_path / "models.py").write_text(MODELS.partition("TABLE")[0], encoding="utf-8")
    options = "p.add_argument('--name', default='Small')\n"
    text = HEAD + PARSER.format(options=options) + f"import models\nmodel_of_name = {form}()\n" + TRAIN + FIT
    findings = analyse_project(write(tmp_path, train=text), Path("train.py"))
    assert {metric.line for metric in findings.metrics if metric.selected} == {3}


FILES = {
    "named by its path": ("--config settings/norm.yaml", "log_norm: true\n"),
    "named by its stem": ("--config=norm", "log_norm: true\n"),
}


@pytest.mark.parametrize(("words", "listed"), FILES.values(), ids=FILES.keys())
def test_a_configuration_file_that_the_command_names_decides(tmp_path, words, listed):
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "norm.yaml").write_text(listed, encoding="utf-8")
    (tmp_path / "settings" / "plain.yaml").write_text("log_norm: false\n", encoding="utf-8")
    text = script("p.add_argument('--config')\n", "config['log_norm']")
    text = text.replace("args = p", "import yaml\nconfig = yaml.safe_load(open(p.parse_args().config))\nargs = p")
    assert NORM in found(tmp_path, text, words)
    assert NORM not in found(tmp_path, text, "--config settings/plain.yaml")


def test_a_configuration_file_that_cannot_be_read_may_change_any_setting(tmp_path):
    text = script(SWITCH + "p.add_argument('--config')\n", "args.log_norm")
    assert NORM not in found(tmp_path, text, "")
    assert NORM in found(tmp_path, text, "--config elsewhere.yaml")
    assert NORM in found(tmp_path, text, "--config settings.toml")


def test_settings_in_python_are_read_from_the_file_that_an_option_names(tmp_path):
    (tmp_path / "quiet.py").write_text("config.log_norm = False\n", encoding="utf-8")
    (tmp_path / "loud.py").write_text("config.log_norm = True\n", encoding="utf-8")
    text = HEAD + "from absl import flags\nflags.DEFINE_string('config', 'quiet.py', '')\nFLAGS = flags.FLAGS\n"
    text += TRAIN + REPORT + "        if FLAGS.config.log_norm:\n            print('norm', model.weight.grad.norm())\n"
    assert NORM not in found(tmp_path, text, "")
    assert NORM in found(tmp_path, text, "--config=loud.py")


def test_settings_that_exclude_every_training_decide_nothing(tmp_path):
    text = HEAD + PARSER.format(options=SWITCH) + "if args.log_norm:\n"
    text += "".join(f"    {line}\n" for line in (TRAIN + REPORT).splitlines())
    assert len(found(tmp_path, text, "")) == 1


def test_what_only_an_excluded_branch_names_is_not_called_back_by_the_training(tmp_path):
    text = (
        HEAD
        + PARSER.format(options=MODE)
        + "def draw():\n    return torch.randn(4, 2)\n"
        + "def prepare():\n    x = draw()\n    torch.save(x, 'test.pt')\n"
        + "def train():\n    prepare()\n    for epoch in range(2):\n        x = draw()\n"
        + "        loss = model(x).mean()\n        loss.backward()\n        optimizer.step()\n"
        + REPORT
        + "if args.mode == 'prepare':\n    prepare()\nelif args.mode == 'train':\n    train()\n"
    )
    findings = analyse_project(write(tmp_path, train=text), Path("train.py"), (), [])
    told = {draw.function: draw.factor for draw in findings.draws if draw.call == "draw"}
    assert told == {"prepare": "data", "train": "shuffle"}


def test_words_of_a_command_are_told_from_those_before_its_script():
    assert words_after(["python", "-u", "train.py", "--lr", "1"], "train.py") == ["--lr", "1"]
    assert words_after(["python", "-m", "pkg.train", "fit"], "pkg/train.py") == ["fit"]
    assert words_after(["python", "-m", "pkg", "fit"], "pkg/__main__.py") == ["fit"]
    assert words_after(["python", "-mpkg", "fit"], "pkg/__main__.py") == ["fit"]
    assert words_after(["bash", "train.sh", "--lr"], "train.py") is None
    arguments = Arguments(["fit", "--lr", "-1", "--flag", "model.depth=3", "+data=big"])
    assert arguments.options == {"--lr": ["-1"], "--flag": ["model.depth=3", "+data=big"]}
    assert arguments.assigned == {"model.depth": "3", "data": "big"}
    assert arguments.leading == ["fit"]


#: A training under a function, with a report that an option switches on.
_OFFERED = """
    for epoch in range(2):
        for x, y in loader:
{step}
        print("loss", loss.item())
        if {test}:
            print("probed", loss.item() / 2)
""".format(step=textwrap.indent(STEP.strip(), " " * 12), test="{test}")


@pytest.mark.parametrize(
    ("before", "start", "test", "flag"),
    [
        ("from transformers import HfArgumentParser\n@dataclass\nclass Args:\n    probe: bool = field(default=False)\n",
         "args, = HfArgumentParser(Args).parse_args_into_dataclasses()\ntrain(args)\n", "args.probe", "--probe"),
        ("import tyro\n@dataclass\nclass Args:\n    do_probe: bool = False\n",
         "train(tyro.cli(Args))\n", "args.do_probe", "--do-probe"),
        ("import click\n@click.command()\n@click.option('--probe/--no-probe', default=False)\n",
         "train()\n", "probe", "--probe"),
        ("import typer\napp = typer.Typer()\n@app.command()\n", "app()\n", "probe", "--probe"),
    ],
)  # fmt: skip
def test_options_that_libraries_derive_decide_which_branches_run(tmp_path, before, start, test, flag):
    parameter = "args" if "." in test else "probe" if "click" in before else "probe: bool = typer.Option(False)"
    text = f"{HEAD}\nfrom dataclasses import dataclass, field\n{before}def train({parameter}):{_OFFERED}{start}"
    assert "probed" not in said(tmp_path, text.format(test=test), [])
    assert "probed" in said(tmp_path, text.format(test=test), [flag])
    assert "probed" in said(tmp_path, text.format(test=test), None)


def said(folder: Path, text: str, words: list[str] | None) -> set[str]:
    findings = analyse_project(write(folder, train=text), Path("train.py"), arguments=words)
    return {metric.name for metric in findings.metrics if metric.selected}


IN_A_FUNCTION = """
def train(every):
    model.train()
    for x, y in loader:
        {step}
        if every and epoch % every == 0:
            print('grad norm', model.weight.grad.norm())
    print('loss', loss.item())

for epoch in range(3):
    {call}
"""


@pytest.mark.parametrize(
    ("call", "words", "runs"),
    [
        ("train(args.level)", "", False),
        ("train(args.level)", "--level 2", True),
        ("train(args.level); train(5)", "", True),
        ("train(args.level); again = train", "", True),
    ],
)
def test_a_method_of_the_same_name_is_no_call_of_a_function(tmp_path, call, words, runs):
    body = IN_A_FUNCTION.format(step=textwrap.indent(STEP.strip(), " " * 8).strip(), call=call)
    assert (NORM in found(tmp_path, HEAD + PARSER.format(options=LEVEL) + body, words)) is runs


def test_a_function_of_a_module_is_called_through_it(tmp_path):
    step = textwrap.indent(STEP.strip(), " " * 8).strip()
    function = IN_A_FUNCTION.format(step=step, call="pass").replace("epoch % every", "every % 2")
    write(tmp_path, engine=HEAD + function)
    script = "import engine\n" + PARSER.format(options=LEVEL) + "engine.train(args.level)\nengine.train(4)\n"
    assert NORM in found(tmp_path, script, "")
