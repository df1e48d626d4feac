"""The analysis takes time in proportion to a program's length, however its branches nest."""

import time

import pytest
from click.testing import CliRunner

from deviate.cli.main import group

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
