"""The analysis takes time in proportion to a program's length, however its branches nest."""

import time

import pytest
from click.testing import CliRunner

from deviate.cli.main import group
from deviate.core.errors import BadConfig
from deviate.runs.snapshot.surroundings import computed_paths
from deviate.source.config import read_config
from deviate.source.lint import find_suspects
from deviate.source.selection import extract
from deviate.source.settings.options import read_settings

TRAINING = """
import random
import deep

for epoch in range(3):
    loss = 1 / (epoch + 1) + random.random()
    print(f"epoch {epoch} loss {loss:.4f}")
"""
BRANCHES = 500
CHAINS = {
    "numbers": "elif x == {0}:\n    loss = {0}\n    print(loss)\n",
    "words and imports": "elif s == 'w{0}':\n    import json as m{0}\n    loss = {0}\n    print(loss)\n",
}


@pytest.mark.long
@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_of_branches_is_read_in_some_seconds(tmp_path, monkeypatch, chain):
    """In 12 s per 400 branches and the square of it for more, before each was looked into once."""
    start = "import sys\nx, s = len(sys.argv), sys.argv[0]\nif x == -1:\n    pass\n"
    (tmp_path / "deep.py").write_text(start + "".join(CHAINS[chain].format(number) for number in range(BRANCHES)))
    (tmp_path / "train.py").write_text(TRAINING)
    monkeypatch.chdir(tmp_path)
    began = time.process_time()
    result = CliRunner().invoke(group, ["extract", "train.py"])
    assert result.exit_code == 0
    assert "loss  lower is better" in result.output
    assert time.process_time() - began < 10


DEEP = 5_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.x]\ny = " + "[" * DEEP + "]" * DEEP),
        ("conf.yaml", "defaults: " + "[" * DEEP + "]" * DEEP),
        ("conf.json", '{"a":' * DEEP + "1" + "}" * DEEP),
        ("conf.yaml", "a0: &a0 {x: 1}\n" + "".join(
            f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9))}}}\n" for n in range(1, 12)
        )),
        ("deep.py", "x = " + "(" * DEEP + "1" + ")" * DEEP),
        ("deep.py", "x = " + "not " * DEEP + "1"),
        ("deep.py", "x = {}\nx" + "[0]" * 900 + " = 1"),
        ("deep.py", "import importlib\nimportlib.import_module('a'" + " + b" * 1_500 + ")"),
        ("deep.py", "def made(f):\n    return f\n@made" + ".made" * 1_500 + "\ndef loss():\n    print('acc', 1 / 3)"),
        ("deep.py", "acc = 1 / 3\nprint('acc', acc" + " + acc" * 1_500 + ")"),
        ("deep.py", "for x in {1}" + " | {1}" * 1_500 + ": pass"),
        ("deep.py", "import os\nif 0: pass\n" + "elif os.path.dirname(__file__): pass\n" * 1_500),
        ("deep.py", "class A0: pass\n" + "".join(f"class A{n + 1}(A{n}): pass\n" for n in range(400))),
        ("pyproject.toml", "x = " + "9" * 1_000_000),
        ("run.sh", "export PYTHONPATH=src" + "\n" * 400_000),
    ],
)  # fmt: skip
def test_settings_and_source_that_nest_deeply_are_passed_over(tmp_path, monkeypatch, name, text):
    (tmp_path / name).write_text(text)
    (tmp_path / "train.py").write_text(TRAINING.replace("import deep\n", 'CONFIG = "conf.json"\nOTHER = "conf.yaml"\n'))
    monkeypatch.chdir(tmp_path)
    began = time.process_time()
    result = CliRunner().invoke(group, ["extract", "train.py", "--diff"])
    assert result.exit_code == 0, result.exception
    assert "__dv__" in result.output
    read_settings(tmp_path / name)
    find_suspects(tmp_path, [name])
    computed_paths((tmp_path / name).read_text(), tmp_path / name, tmp_path)
    assert time.process_time() - began < 5


def test_an_own_configuration_that_nests_deeply_is_refused(tmp_path):
    (tmp_path / "deviate.toml").write_text("x = " + "[" * DEEP + "]" * DEEP)
    with pytest.raises(BadConfig, match=r"deviate\.toml"):
        read_config(tmp_path)


@pytest.mark.parametrize("expression", ["not " * DEEP + "loss", "loss" + " + loss" * 2_000, "(" * DEEP, "loss\\u0000"])
def test_an_expression_that_is_nowhere_is_refused_however_it_nests(tmp_path, expression):
    (tmp_path / "train.py").write_text(TRAINING.replace("import deep\n", ""))
    entry = f'[[metric]]\nname = "m"\nfile = "train.py"\nline = 6\nexpression = "{expression}"\n'
    (tmp_path / "deviate.toml").write_text(entry, encoding="utf-8-sig")
    with pytest.raises(BadConfig, match="metric 'm': no expression"):
        extract(tmp_path, "train.py")
