"""The analysis takes time in proportion to a program's length, however its branches nest."""

import time

import pytest
from click.testing import CliRunner

from deviate.analyse.settings.files import read_settings
from deviate.cli.command_line import group
from deviate.errors import BadConfig
from deviate.project.config import read_config

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
    assert "loss, lower is better" in result.output
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
    ],
)  # fmt: skip
def test_settings_and_source_that_nest_deeply_are_passed_over(tmp_path, monkeypatch, name, text):
    (tmp_path / name).write_text(text)
    (tmp_path / "train.py").write_text(TRAINING.replace("import deep\n", 'CONFIG = "conf.json"\nOTHER = "conf.yaml"\n'))
    monkeypatch.chdir(tmp_path)
    began = time.process_time()
    result = CliRunner().invoke(group, ["extract", "train.py"])
    assert result.exit_code == 0, result.exception
    assert "loss, lower is better" in result.output
    read_settings(tmp_path / name)
    assert time.process_time() - began < 5


def test_an_own_configuration_that_nests_deeply_is_refused(tmp_path):
    (tmp_path / "deviate.toml").write_text("x = " + "[" * DEEP + "]" * DEEP)
    with pytest.raises(BadConfig, match=r"deviate\.toml"):
        read_config(tmp_path)
