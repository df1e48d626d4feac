"""Which of several alternatives is read where no command is given: the documented, the chosen, or the first one."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysed_projects import HEAD, STEP, analyse, looped, names, write

from deviate.source.analysis import analyse_project
from deviate.source.settings.lookup import documented_arguments

#: A function that trains and reports one value under a name.
_TRAINS = """
def {name}():
    for epoch in range(2):
        for x, y in loader:
{step}
        print("{name} loss", loss.item())
"""
PARSER = (
    "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--kind')\nargs = parser.parse_args()\n"
)


def training(name: str) -> str:
    return _TRAINS.format(name=name, step=textwrap.indent(STEP.strip(), " " * 12))


def reported(folder: Path, text: str, **others: str) -> set[str]:
    findings = analyse_project(write(folder, train=HEAD + text, **others), Path("train.py"))
    return {metric.name for metric in findings.metrics if metric.selected}


CHAIN = (
    training("small")
    + training("large")
    + PARSER
    + "if args.kind == 'small':\n    small()\nelif args.kind == 'large':\n    large()\n"
)


def test_of_alternatives_the_first_is_read_where_nothing_tells(tmp_path):
    assert reported(tmp_path, CHAIN) == {"small loss"}


def test_the_documented_command_chooses(tmp_path):
    (tmp_path / "README.md").write_text("Train it:\n\n```\n$ python train.py --kind large <other options>\n```\n")
    assert reported(tmp_path, CHAIN) == {"large loss"}


def test_where_documents_differ_the_first_alternative_is_read(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --kind large\n\npython train.py --kind small\n")
    assert reported(tmp_path, CHAIN) == {"small loss"}


def test_a_default_chooses(tmp_path):
    assert reported(tmp_path, CHAIN.replace("'--kind'", "'--kind', default='large'")) == {"large loss"}


def test_an_alternative_that_only_evaluates_is_not_the_first(tmp_path):
    text = CHAIN.replace("'small':", "'evaluate':").replace("    small()", "    print('checked')")
    assert reported(tmp_path, text) == {"large loss"}


def test_what_a_loop_goes_through_is_no_alternative(tmp_path):
    text = training("train") + training("fine") + "for phase in ('a', 'b'):\n    if phase == 'a':\n        train()\n"
    assert reported(tmp_path, text + "    elif phase == 'b':\n        fine()\n") == {"train loss", "fine loss"}


def test_a_feature_that_the_documents_leave_off_may_still_be_switched_on(tmp_path):
    (tmp_path / "README.md").write_text("python train.py\n")
    before = PARSER.replace("'--kind'", "'--verbose', action='store_true'")
    text = before + training("small").replace("        print(", "        if args.verbose: print(") + "small()\n"
    assert reported(tmp_path, text) == {"small loss"}


def test_imports_of_alternatives_that_are_not_taken_are_not_reached(tmp_path):
    branches = "if args.kind == 'a':\n    from first import run\nelif args.kind == 'b':\n    from second import run\n"
    other = {name: HEAD + training("run").replace("run loss", f"{name} loss") for name in ("first", "second")}
    assert reported(tmp_path, PARSER + branches + "run()\n", **other) == {"first loss"}


REGISTRY = """
TRAINERS = {}
def register(name):
    def keep(cls):
        TRAINERS[name] = cls
        return cls
    return keep
"""


@pytest.mark.parametrize(("default", "expected"), [("fast", {"fast loss"}), (None, {"fast loss", "slow loss"})])
def test_of_registered_classes_those_that_settings_name_are_read(tmp_path, default, expected):
    classes = "".join(
        f"@register('{name}')\nclass {name.title()}:\n" + textwrap.indent(training("run"), "    ").replace(
            "def run()", "def run(self)").replace("run loss", f"{name} loss")
        for name in ("fast", "slow")
    )  # fmt: skip
    parser = PARSER.replace("'--kind'", f"'--kind', default={default!r}")
    assert reported(tmp_path, REGISTRY + classes + parser + "TRAINERS[args.kind]().run()\n") == expected


@pytest.mark.parametrize(
    "chosen",
    [
        "import importlib\nimportlib.import_module(f'kinds.{args.kind}').__dict__[args.kind.title()]().fit()\n",
        "exec(f'from kinds.{args.kind} import Trainer')\neval(f'{args.kind.title()}()').fit()\n",
    ],
)
def test_modules_that_are_imported_by_a_computed_name_are_read(tmp_path, chosen):
    trainer = "class Trainer:\n" + textwrap.indent(training("fit"), "    ").replace("def fit()", "def fit(self)")
    assert reported(tmp_path, PARSER + chosen, kinds__one=HEAD + trainer) == {"fit loss"}


def test_of_two_methods_with_one_name_the_last_runs(tmp_path):
    trainer = "class Trainer:\n    def fit(self):\n        raise NotImplementedError\n" + textwrap.indent(
        training("fit"), "    "
    ).replace("def fit()", "def fit(self)")
    assert reported(tmp_path, trainer + "Trainer().fit()\n") == {"fit loss"}


def test_documented_commands_are_joined_to_what_they_have_in_common(tmp_path):
    (tmp_path / "README.md").write_text(
        "`python train.py data --lr 0.1 --kind small --out PATH`\n\n"
        "> CUDA_VISIBLE_DEVICES=0 python train.py data \\\n  --lr 0.1 --kind large\n\n"
        "python train.py --help\npython train.py --mode test\npython other.py --lr 3\n"
    )
    known = documented_arguments(tmp_path, tmp_path / "train.py")
    assert known.leading == ["data"]
    assert {name: words for name, words in known.options.items() if words != ["", ""]} == {"--lr": ["0.1"]}


def test_shell_scripts_count_where_no_readme_starts_the_script(tmp_path):
    (tmp_path / "go.sh").write_text("python train.py --lr 0.2\n")
    assert documented_arguments(tmp_path, tmp_path / "train.py").options == {"--lr": ["0.2"]}
    (tmp_path / "README.md").write_text("python train.py --lr 0.3\n")
    assert documented_arguments(tmp_path, tmp_path / "train.py").options == {"--lr": ["0.3"]}


RETURNS = (
    "def make(kind):\n    if kind == 'small':\n        return small\n    if kind == 'large':\n        return large\n"
    + training("small")
    + training("large")
)


@pytest.mark.parametrize(
    ("documented", "expected"),
    [
        ("python train.py mnist large 3", {"large loss"}),
        ("python train.py cifar small\npython train.py mnist large", {"small loss"}),
        ("python train.py <data> large", {"small loss"}),
        ("the python script [train.py](x) reads a large file", {"small loss"}),
        ("", {"small loss"}),
    ],
)
def test_words_that_are_read_by_their_place_choose(tmp_path, documented, expected):
    (tmp_path / "README.md").write_text(documented + "\n")
    assert reported(tmp_path, RETURNS + "import sys\nkind = sys.argv[2]\nmake(kind)()\n") == expected


def test_words_of_the_command_choose_by_their_place(tmp_path):
    text = RETURNS + "import sys\nmake(sys.argv[1])()\n"
    project = write(tmp_path, train=HEAD + text)
    findings = analyse_project(project, Path("train.py"), arguments=["large", "--epochs", "3"])
    assert {metric.name for metric in findings.metrics if metric.selected} == {"large loss"}


NAMED = {
    "module": "import importlib\nimportlib.import_module('kinds.' + args.kind).Trainer().fit()\n",
    "relative": "import importlib\nkind = importlib.import_module(f'kinds.{args.kind}')\nkind.Trainer().fit()\n",
    "attribute": "import importlib\ngetattr(importlib.import_module('kinds.' + args.kind), 'Trainer')().fit()\n",
    "globals": "from kinds.one import Trainer as one\nfrom kinds.two import Trainer as two\n"
    "globals()[args.kind]().fit()\n",
    "dictionary": "import importlib\nmodule = importlib.import_module(f'kinds.{args.kind}')\n"
    "module.__dict__[f'{args.kind.upper()}'.title().replace('Two', 'Trainer')]().fit()\n",
}  # fmt: skip


def trainer(kind: str) -> str:
    method = textwrap.indent(training("fit"), "    ").replace("def fit()", "def fit(self)")
    return f"{HEAD}class Trainer:\n{method.replace('fit loss', kind + ' loss')}\n"


@pytest.mark.parametrize("taken", NAMED.values(), ids=NAMED)
def test_what_is_taken_by_a_name_that_settings_decide_is_read_alone(tmp_path, taken):
    parser = PARSER.replace("'--kind'", "'--kind', default='two'")
    found = reported(tmp_path, parser + taken, kinds__one=trainer("one"), kinds__two=trainer("two"))
    assert found == {"two loss"}


def test_for_an_option_without_a_default_the_first_documented_command_counts(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --kind two\npython train.py --kind one\n")
    parser = PARSER.replace("'--kind'", "'--kind', required=True")
    found = reported(tmp_path, parser + NAMED["module"], kinds__one=trainer("one"), kinds__two=trainer("two"))
    assert found == {"two loss"}


def test_of_alternatives_the_first_that_trains_is_read(tmp_path):
    text = CHAIN.replace("    small()\nelif", "    print('drawn')\nelif")
    assert reported(tmp_path, text) == {"large loss"}


def test_the_module_that_an_option_names_by_default_is_read(tmp_path):
    parser = PARSER.replace("'--kind'", "'--kind', default='two'")
    text = parser + "import importlib\nimportlib.import_module(args.kind).Trainer().fit()\n"
    assert reported(tmp_path, text, one=trainer("one"), two=trainer("two")) == {"two loss"}


def test_tests_in_a_row_choose_one(tmp_path):
    row = "if args.kind == 'small':\n    small()\nif args.kind == 'large':\n    large()\n"
    text = training("small") + training("large") + PARSER.replace("'--kind'", "'--kind', default='large'") + row
    assert reported(tmp_path, text) == {"large loss"}


def test_a_switch_chooses_between_imports_of_one_name(tmp_path):
    module = HEAD + training("{0}").replace("def {0}", "def run")
    branches = "if args.fine:\n    from first import run\nelse:\n    from second import run\n"
    text = PARSER.replace("'--kind'", "'--fine', action='store_true'") + branches + "run()\n"
    (tmp_path / "README.md").write_text("python train.py\npython train.py --fine\n")
    others = {name: module.replace("{0}", name) for name in ("first", "second")}
    assert reported(tmp_path, text, **others) == {"second loss"}


def test_each_module_that_a_name_may_be_is_reached(tmp_path):
    module = HEAD + training("{0}").replace("def {0}", "def run")
    text = "try:\n    import fast as engine\nexcept ImportError:\n    import slow as engine\nengine.run()\n"
    others = {name: module.replace("{0}", name) for name in ("fast", "slow")}
    assert reported(tmp_path, text, **others) == {"fast loss", "slow loss"}


def test_an_alternative_that_reports_and_does_not_train_gives_way_to_one_that_does(tmp_path):
    guess = "def guess():\n    for epoch in range(3):\n        print('guess accuracy', accuracy(epoch))\n"
    text = CHAIN.replace(training("small"), guess.replace("guess()", "small()"))
    assert reported(tmp_path, text) == {"large loss"}


def test_a_name_that_is_put_together_chooses_a_module(tmp_path):
    module = HEAD + training("{0}").replace("def {0}", "def run")
    named = "from importlib import import_module\npath = 'ways.%s' % args.kind\ngetattr(import_module(path), 'run')()\n"
    text = PARSER.replace("'--kind'", "'--kind', default='b'") + named
    others = {"ways____init__": "", **{f"ways__{name}": module.replace("{0}", name) for name in ("a", "b")}}
    assert reported(tmp_path, text, **others) == {"b loss"}


CHOICES = "KINDS = ['small', 'large']\n" + CHAIN.replace("'--kind'", "'--kind', choices=KINDS")


@pytest.mark.parametrize("folder", ["owner+Large", "large-pytorch", "Large.jax/src"])
def test_where_documents_differ_the_choice_that_the_project_is_called_like_counts(tmp_path, folder):
    project = tmp_path / folder
    project.mkdir(parents=True)
    (project / "README.md").write_text("    python train.py --kind small\n    python train.py --kind large\n")
    assert reported(project, CHOICES) == {"large loss"}


def test_a_given_choice_beats_the_projects_name(tmp_path):
    project = tmp_path / "large"
    project.mkdir()
    (project / "README.md").write_text("    python train.py --kind small\n")
    assert reported(project, CHOICES) == {"small loss"}


def test_a_table_that_a_class_holds_gives_the_entry_that_settings_name(tmp_path):
    kinds = """
    import torch
    class Plain:
        def fit(self, passes):
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for passed in range(passes):
                loss = model(torch.randn(4, 2)).mean()
                loss.backward()
                optimizer.step()
                print(f"loss {loss.item():.3f}")
    class Careful(Plain):
        def fit(self, passes):
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(passes):
                penalty = model(torch.randn(4, 2)).mean()
                penalty.backward()
                optimizer.step()
                print(f"penalty {penalty.item():.3f}")
    class Makers:
        table = {"plain": Plain, "careful": Careful}
        @staticmethod
        def make(name):
            return Makers.table[name]()
    """
    train = """
    import argparse
    from kinds import Makers
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", default="plain")
    args = parser.parse_args()
    Makers.make(args.kind).fit(3)
    """
    findings = analyse(tmp_path, train=train, kinds=kinds)
    assert (findings.main_loop.variable, set(names(findings))) == ("passed", {"loss"})


def test_what_is_given_to_a_class_that_is_taken_out_of_a_table_is_known_in_it(tmp_path):
    before = """
    class Judge:
        def judged(self):
            return (model(torch.ones(4, 2)) > 0).float().mean().item()
    class Shown:
        def __init__(self, judge=None):
            self.judge = judge
        def show(self):
            share = self.judge.judged()
            print("share", share)
    class Hidden(Shown):
        def show(self):
            pass
    kinds = {"shown": Shown, "hidden": Hidden}
    shower = kinds["shown"](Judge())
    """
    assert "share" in names(analyse(tmp_path, train=looped("shower.show()", before)))


@pytest.mark.parametrize(
    ("default", "times", "expected"),
    [("large", 1, "large loss"), ("large", 2, "small loss"), ("huge", 1, "small loss")],
)
def test_where_documents_differ_a_default_that_none_is_commoner_than_is_read(tmp_path, default, times, expected):
    text = "python train.py --kind large\n\n" + "python train.py --kind small\n\n" * times
    (tmp_path / "README.md").write_text(text)
    assert reported(tmp_path, CHAIN.replace("'--kind'", f"'--kind', default='{default}'")) == {expected}


@pytest.mark.parametrize(("call", "expected"), [("if args.kind == 'small':\n        start()", {"small loss"}),
                                                ("start()", {"large loss"})])  # fmt: skip
def test_a_setting_that_only_a_branch_changes_is_open(tmp_path, call, expected):
    chain = "if args.kind == 'small':\n        small()\n    elif args.kind == 'large':\n        large()\n"
    text = training("small") + training("large") + PARSER
    text += f"def start():\n    args.kind = 'large'\ndef main():\n    {call}\n    model.start()\n    {chain}main()\n"
    assert reported(tmp_path, text) == expected


OPEN = (
    training("small") + training("large") + PARSER + "if args.kind == 'small':\n    small()\nelse:\n    {otherwise}\n"
)


def test_where_an_option_is_none_by_default_what_is_done_without_it_is_read(tmp_path):
    assert reported(tmp_path, OPEN.format(otherwise="large()")) == {"large loss"}


def test_a_chain_that_ends_with_a_complaint_is_not_left_to_it(tmp_path):
    assert reported(tmp_path, OPEN.format(otherwise="raise ValueError(args.kind)")) == {"small loss"}


def test_where_what_is_done_without_the_option_trains_nothing_the_first_alternative_is_read(tmp_path):
    text = OPEN.format(otherwise="model.eval()")
    assert reported(tmp_path, text) == {"small loss"}


def test_a_document_that_gives_the_option_chooses_though_it_is_none_by_default(tmp_path):
    (tmp_path / "README.md").write_text("python train.py --kind small\n")
    assert reported(tmp_path, OPEN.format(otherwise="large()")) == {"small loss"}


EITHER = (
    training("plain") + training("private") + PARSER.replace("'--kind'", "'--private', default=False, type=flag")
    + "if args.private:\n    made = private()\nelse:\n    made = plain()\n"
)  # fmt: skip


def test_of_two_functions_for_one_result_the_one_that_the_default_calls_is_read(tmp_path):
    assert reported(tmp_path, EITHER) == {"plain loss"}


def test_what_only_a_later_command_gives_has_its_default(tmp_path):
    (tmp_path / "README.md").write_text("python train.py\n\nWith privacy:\n\npython train.py --private True\n")
    assert reported(tmp_path, EITHER) == {"plain loss"}


@pytest.mark.parametrize("test", ["args.disable_large", "not args.no_small"])
def test_a_switch_that_takes_something_away_is_off_where_nothing_says_otherwise(tmp_path, test):
    parser = "import argparse\nfrom options import given\nargs = given(argparse.ArgumentParser())\n"
    branches = ("small", "large") if test.startswith("args") else ("large", "small")
    text = training("small") + training("large") + parser
    text += "if {}:\n    made = {}()\nelse:\n    made = {}()\n".format(test, *branches)
    assert reported(tmp_path, text) == {"large loss"}


@pytest.mark.parametrize("last", ["return", "sys.exit(0)"])
def test_a_switch_that_ends_the_program_early_is_another_mode(tmp_path, last):
    text = (
        "import argparse, sys\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--find-rate', action='store_true')\nargs = parser.parse_args()\n"
        + training("search") + training("plain")
        + f"def main():\n    if args.find_rate:\n        search()\n        {last}\n    plain()\nmain()\n"
    )  # fmt: skip
    assert reported(tmp_path, text) == {"plain loss"}


def test_a_setting_that_is_handed_on_under_its_own_name_is_not_changed(tmp_path):
    saved = "saved_args = {}\nsaved_args['kind'] = args.kind\nother_args = vars(args)\n"
    text = CHAIN.replace(
        "if args.kind == 'small'", f"{saved}other_args['kind'] = saved_args['kind']\nif args.kind == 'small'"
    )
    findings = analyse_project(write(tmp_path, train=HEAD + text), Path("train.py"), arguments=["--kind", "large"])
    assert {metric.name for metric in findings.metrics if metric.selected} == {"large loss"}


@pytest.mark.parametrize(("parallel", "losses"), [("Mode.NONE", {"plain loss"}), ("Mode.LATE", {"split loss"})])
@pytest.mark.parametrize(
    "place", ["class Args:\n    mode = {}\n", "class Args:\n    def __init__(self):\n        self.mode = {}\n"]
)
def test_a_class_of_settings_lists_what_chooses(tmp_path, place, parallel, losses):
    text = (
        "from enum import Enum\nclass Mode(Enum):\n    NONE = 0\n    LATE = 1\n"
        + place.format(parallel) + training("split") + training("plain")
        + "args = Args()\nif args.mode != Mode.NONE:\n    split()\nelse:\n    plain()\n"
    )  # fmt: skip
    assert reported(tmp_path, text) == losses


def test_a_switch_with_an_else_chooses(tmp_path):
    text = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--check', action='store_true')\n"
        "args = parser.parse_args()\n" + training("plain") + training("other")
        + "if not args.check:\n    plain()\nelse:\n    other()\n    print('done')\n"
    )  # fmt: skip
    assert reported(tmp_path, text) == {"plain loss"}
