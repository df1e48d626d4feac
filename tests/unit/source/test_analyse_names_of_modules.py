"""Names that lead to modules in unusual ways: called like a class in them, bound twice, taken from tables of names."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysed_projects import HEAD, STEP, analyse, write

from deviate.source.analysis import analyse_project

TRAINS = (
    HEAD + "class {name}:\n    def train_model(self):\n"
    "        for epoch in range(3):\n            for x, y in loader:\n"
    + textwrap.indent(STEP.strip(), " " * 16) + "\n            print('{name} loss', loss.item())\n"
)  # fmt: skip


def reported(folder, packages: dict[str, str], **files) -> set[str]:
    """Write packages, by their folders and what their ``__init__`` says, and modules; return what is reported."""
    for path, text in packages.items():
        (folder / path).mkdir(parents=True, exist_ok=True)
        (folder / path / "__init__.py").write_text(text)
    return {metric.name for metric in analyse(folder, **files).metrics if metric.selected}


def trains(name: str) -> str:
    return TRAINS.format(name=name)


def test_a_package_gives_its_class_that_is_called_like_a_module(tmp_path):
    entry = "from kit.parts import Trainer\nTrainer().train_model()\n"
    packages = {"kit": "", "kit/parts": "from .Trainer import Trainer\n"}
    assert reported(tmp_path, packages, train=entry, kit__parts__Trainer=trains("Trainer")) == {"Trainer loss"}


def test_a_package_gives_a_class_that_it_takes_whole_from_the_module_called_like_it(tmp_path):
    entry = "import kit\nkit.Quick().train_model()\n"
    packages = {"kit": "from .Trainer import *\nfrom .quick import Quick\n"}
    quick = "from . import Trainer\nclass Quick(Trainer):\n    pass\n"
    files = {"kit__Trainer": trains("Trainer"), "kit__quick": quick}
    assert reported(tmp_path, packages, train=entry, **files) == {"Trainer loss"}


def test_a_package_gives_a_module_that_it_imports(tmp_path):
    entry = "from kit import work\nwork.Trainer().train_model()\n"
    packages = {"kit": "from . import work\nfrom kit import work\n"}
    assert reported(tmp_path, packages, train=entry, kit__work=trains("Trainer")) == {"Trainer loss"}


def test_a_package_taken_whole_gives_a_module_that_it_imports(tmp_path):
    entry = HEAD + "from kit import *\nfor epoch in range(3):\n    for x, y in loader:\n"
    entry += textwrap.indent(STEP.strip(), " " * 8) + "\n        work.tell('Train loss %f' % loss.item())\n"
    packages = {"kit": "from kit import work\n", "kit/work": "from kit.work.texts import *\n"}
    texts = "def tell(text):\n    print(text, flush=True)\n"
    assert reported(tmp_path, packages, train=entry, kit__work__texts=texts) == {"Train loss"}


def test_a_name_of_a_module_that_is_given_an_object_has_its_methods(tmp_path):
    entry = "import kit\nfrom kit import work\nwork = kit.work.Trainer()\nwork.train_model()\n"
    assert reported(tmp_path, {"kit": ""}, train=entry, kit__work=trains("Trainer")) == {"Trainer loss"}


OPTIONS = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--file', {default})
parser.add_argument('--kind', default='Small')
args = parser.parse_args()
"""


@pytest.mark.parametrize(
    ("default", "losses"), [("default='one'", {"Small loss"}), ("required=True", {"Small loss", "Large loss"})]
)
def test_a_class_is_taken_from_a_module_that_is_taken_by_name(tmp_path, default, losses):
    text = OPTIONS.format(default=default) + "import kinds\n"
    made = "made = kinds.__dict__[args.file].__dict__[args.kind]()\nmade.train_model()\n"
    other = trains("Large").replace("class Large", "class Small")
    packages = {"kinds": "from . import one, two\n"}
    assert reported(tmp_path, packages, train=text + made, kinds__one=trains("Small"), kinds__two=other) == losses


def test_of_the_names_that_a_text_may_stand_for_the_given_one_is_read(tmp_path):
    text = OPTIONS.format(default="default=1") + "from kinds import *\nmade = eval(args.kind)()\nmade.train_model()\n"
    packages = {"kinds": "from kinds.one import *\nfrom kinds.two import *\n"}
    files = {"kinds__one": trains("Large"), "kinds__two": trains("Small")}
    assert reported(tmp_path, packages, train=text, **files) == {"Small loss"}


def test_modules_of_a_name_that_is_joined_of_parts_are_read(tmp_path):
    text = (
        "import importlib\ndef load(name):\n    path = '.'.join(['kit', 'kinds', name])\n"
        "    return importlib.import_module(path).Work()\nload(input()).train_model()\n"
    )
    packages = {"kit": "", "kit/kinds": ""}
    assert reported(tmp_path, packages, train=text, kit__kinds__one=trains("Work")) == {"Work loss"}


def test_a_module_that_a_text_names_is_read(tmp_path):
    text = "import launch\nlaunch.run('kit.work')\n"
    launch = (
        "import importlib\ndef run(name):\n    work = importlib.import_module(name)\n    work.made().train_model()\n"
    )
    work = trains("Work") + "def made():\n    return Work()\n"
    assert reported(tmp_path, {"kit": ""}, train=text, launch=launch, kit__work=work) == {"Work loss"}


def test_a_function_that_is_taken_by_name_may_be_the_one_that_it_is_called(tmp_path):
    text = (
        "import importlib\nmodule = importlib.import_module('core')\nwork = getattr(module, config['work'])\n"
        "for epoch in range(9):  # main\n    for part in parts:\n        work(part)\n"
    )
    step = textwrap.indent(STEP.strip(), "        ")
    core = (
        HEAD + f"def work(part):\n    for i, (x, y) in enumerate(part):\n{step}\n        print('loss', loss.item())\n"
    )
    loop = analyse(tmp_path, train=text, core=core).main_loop
    assert (loop.file, loop.variable) == ("train.py", "epoch")


COMPOSED = """
import hydra
@hydra.main(config_path='conf', config_name='config')
def main(cfg):
    hydra.utils.instantiate(cfg.agent).train_model()
main()
"""


@pytest.mark.parametrize(
    ("command", "losses"), [("", {"One loss"}), ("agent=two", {"Two loss"}), ("agent=other", {"One loss", "Two loss"})]
)
def test_of_a_group_of_configurations_the_chosen_one_is_read(tmp_path, command, losses):
    (tmp_path / "conf" / "agent").mkdir(parents=True)
    (tmp_path / "conf" / "config.yaml").write_text(
        "defaults:\n  - agent: one\n  - override hydra/launcher: x\n  - _self_\n"
    )
    for name in ("one", "two"):
        (tmp_path / "conf" / "agent" / f"{name}.yaml").write_text(f"_target_: work.{name.title()}\n")
    if command:
        (tmp_path / "README.md").write_text(f"    python train.py {command}\n")
    assert reported(tmp_path, {}, train=COMPOSED, work=trains("One") + trains("Two")) == losses


@pytest.mark.parametrize(
    ("command", "losses"),
    [
        ("", {"One loss"}),
        ("--config-name=two.yaml", {"Two loss"}),
        ("--config-name none", {"One loss", "Two loss"}),
        ("--config-name two a=$HOME\n\n    python train.py --config-name one", {"Two loss"}),
    ],
)
def test_of_the_configurations_that_compose_others_the_named_one_is_read(tmp_path, command, losses):
    (tmp_path / "conf").mkdir()
    for name in ("one", "two"):
        text = f"defaults:\n  - base\n  - _self_\n_target_: work.{name.title()}\n"
        (tmp_path / "conf" / f"{name}.yaml").write_text(text)
    (tmp_path / "conf" / "base.yaml").write_text("defaults:\n  - _self_\nlr: 0.1\n")
    (tmp_path / "README.md").write_text(f"    python train.py {command}\n")
    text = COMPOSED.replace("'config')", "'one')").replace("instantiate(cfg.agent)", "get_class(cfg._target_)()")
    alone = "@hydra.main(config_path='conf')\ndef main(cfg):\n    Two().train_model()\n"
    work = "import hydra\n" + trains("One") + trains("Two") + alone + "if __name__ == '__main__':\n    main()\n"
    assert reported(tmp_path, {}, train=text, work=work) == losses


def test_modules_of_a_name_that_is_open_in_all_parts_are_those_that_the_command_names(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --data digits --kind quick\n")
    text = (
        "import argparse, importlib, os\nparser = argparse.ArgumentParser()\nparser.add_argument('--data')\n"
        "parser.add_argument('--kind')\nargs = parser.parse_args()\nat = '%s/%s.py' % (args.data, args.kind)\n"
        "if not os.path.exists(at):\n    print('choose another one')\nat = '%s.%s' % (args.data, args.kind)\n"
        "getattr(importlib.import_module(at), 'Work')().train_model()\n"
    )
    work = {f"{folder}__{name}": trains("Work").replace("Work loss", f"{folder} {name} loss")
            for folder in ("digits", "words") for name in ("quick", "slow")}  # fmt: skip
    assert reported(tmp_path, {}, train=text, **work) == {"digits quick loss"}


def test_a_script_that_the_command_names_and_the_program_loads_by_its_path_is_read(tmp_path):
    (tmp_path / "README.md").write_text("python train.py plans/quick.py --gpus 1\n")
    text = (
        "import importlib.util, sys\ndef load(path):\n    spec = importlib.util.spec_from_file_location('plan', path)\n"
        "    plan = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(plan)\n    return plan\n"
        "plan = load(sys.argv[1])\nplan.start_plan()\n"
    )
    plans = {f"plans__{name}": trains(name.title()) + f"def start_plan():\n    {name.title()}().train_model()\n"
             for name in ("quick", "slow")}  # fmt: skip
    assert reported(tmp_path, {}, train=text, **plans) == {"Quick loss"}


MIDDLE = ["f'kinds.{name}.work'", "'kinds.%s.work' % name", "'kinds.' + name + '.work'",
          "'.'.join(['kinds', name, 'work'])"]  # fmt: skip


@pytest.mark.parametrize("path", MIDDLE)
def test_modules_of_a_name_that_is_open_in_the_middle_are_read(tmp_path, path):
    text = (
        f"import importlib\ndef load(name):\n    return getattr(importlib.import_module({path}), 'Work')\n"
        "load(input())().train_model()\n"
    )
    packages = {"kinds": "", "kinds/one": ""}
    assert reported(tmp_path, packages, train=text, kinds__one__work=trains("Work")) == {"Work loss"}


def test_an_own_method_that_a_setting_names_runs(tmp_path):
    text = OPTIONS.format(default="default='train_model'") + trains("Work")
    text += "    def run(self):\n        getattr(self, args.file)()\nWork().run()\n"
    assert reported(tmp_path, {}, train=text) == {"Work loss"}


def test_an_own_method_that_nothing_names_may_be_any(tmp_path):
    text = trains("Work") + "    def run(self):\n        getattr(self, input())()\nWork().run()\n"
    assert reported(tmp_path, {}, train=text) == {"Work loss"}


def test_a_text_that_is_made_of_itself_is_survived(tmp_path):
    text = (
        HEAD + "def row(value):\n    line = value * 2\n    line = line - 1\n    line = line + value\n    return line\n"
        "for epoch in range(3):\n" + textwrap.indent(STEP.strip().replace("model(x)", "model(loader[0][0])"), "    ")
        + "\n    print(row(loss.item()))\n"
    )  # fmt: skip
    assert analyse(tmp_path, train=text).main_loop is not None


SETTINGS_MODULES = """
import argparse, importlib
parser = argparse.ArgumentParser()
parser.add_argument('kind')
parser.add_argument('name')
args = parser.parse_args()
work = importlib.import_module('kinds.{}.{}'.format(args.kind, args.name))
getattr(work, 'Work')().train_model()
"""


@pytest.mark.parametrize("command", ["", "one work"])
def test_modules_of_a_name_that_ends_in_two_open_parts_are_read(tmp_path, monkeypatch, command):
    monkeypatch.setattr("deviate.source.imports.MAX_PLUGIN_FILES", 1 if command else 60)
    if command:
        (tmp_path / "README.md").write_text(f"    python train.py {command}\n")
    packages = {"kinds": "", "kinds/one": "", "kinds/a": ""}
    files = {"kinds__one__work": trains("Work"), "kinds__a__other": "LIMIT = 3\n"}
    assert reported(tmp_path, packages, train=SETTINGS_MODULES, **files) == {"Work loss"}


def test_a_choice_of_a_group_may_be_made_of_the_choices_before_it(tmp_path):
    (tmp_path / "conf" / "agent").mkdir(parents=True)
    text = "defaults:\n  - task: o\n  - size: ne\n  - agent: ${defaults.0.task}${defaults.1.size}\n"
    (tmp_path / "conf" / "config.yaml").write_text(text)
    for name in ("one", "two"):
        (tmp_path / "conf" / "agent" / f"{name}.yaml").write_text(f"agent:\n  class: work.{name.title()}\n")
    assert reported(tmp_path, {}, train=COMPOSED, work=trains("One") + trains("Two")) == {"One loss"}


def test_a_configuration_on_the_search_path_is_composed(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("defaults:\n  - base\n  - _self_\n")
    (tmp_path / "shared" / "agent").mkdir(parents=True)
    (tmp_path / "shared" / "base.yaml").write_text("defaults:\n  - agent: one\n  - _self_\n")
    for name in ("one", "two"):
        (tmp_path / "shared" / "agent" / f"{name}.yaml").write_text(f"_target_: work.{name.title()}\n")
    assert reported(tmp_path, {}, train=COMPOSED, work=trains("One") + trains("Two")) == {"One loss"}


def test_a_file_whose_path_stands_in_the_program_is_read_where_it_loads_files(tmp_path):
    """The training stands in what the loaded files have in common."""
    text = (
        "import importlib.util\ndef load(path):\n    spec = importlib.util.spec_from_file_location('core', path)\n"
        "    core = importlib.util.module_from_spec(spec)\n    spec.loader.exec_module(core)\n    return core\n"
        "plan = {}\nif input():\n    plan['core'] = './cores/plain.py'\nelse:\n    plan['core'] = 'cores/deep.py'\n"
        "load(plan['core']).get_core().train_model()\n"
    )
    cores = {f"cores__{name}": "from cores.base import Base\ndef get_core():\n    return Base()\n"
             for name in ("plain", "deep")}  # fmt: skip
    assert reported(tmp_path, {}, train=text, cores__base=trains("Base"), **cores) == {"Base loss"}


CHOSEN = """
import hydra
@hydra.main('conf', 'config.yaml')
def main(cfg):
    made(cfg).train_model()
def made(cfg):
    if cfg.kind == "two" and cfg.agent.size > 2:
        return Two()
    else:
        return One()
main()
"""


@pytest.mark.parametrize(
    ("size", "command", "losses"),
    [
        ("3", "", {"Two loss"}),
        ("3", "kind=one", {"One loss"}),
        ("3", "agent=slow", {"One loss"}),
        ("${sizes.large}", "", {"Two loss"}),
    ],
)
def test_settings_that_hydra_composes_choose(tmp_path, size, command, losses):
    (tmp_path / "conf" / "agent").mkdir(parents=True)
    (tmp_path / "conf" / "two").mkdir()
    defaults = "defaults:\n  - agent: quick\n  - ${kind}/config\n  - override hydra/launcher: x\n  - _self_\n"
    (tmp_path / "conf" / "config.yaml").write_text(f"{defaults}kind: two\nsize: 3\n")
    (tmp_path / "conf" / "two" / "config.yaml").write_text("# @package _global_\nsizes:\n  large: 9\n")
    (tmp_path / "conf" / "agent" / "quick.yaml").write_text(f"size: {size}\nrate: ???\n")
    (tmp_path / "conf" / "agent" / "slow.yaml").write_text("size: 1\n")
    write(tmp_path, train=CHOSEN.replace("import hydra", "import hydra\nfrom work import One, Two"))
    write(tmp_path, work=trains("One") + trains("Two"))
    findings = analyse_project(tmp_path, Path("train.py"), arguments=command.split())
    assert {metric.name for metric in findings.metrics if metric.selected} == losses
