"""deviate.toml: read with every mistake named by key and line, written without losing what the user wrote."""

import pytest

from deviate.core.errors import BadConfig
from deviate.core.experiment import Capture, Metric
from deviate.source.config import read_config
from deviate.source.config_file import write_metrics

METRIC = '[[metric]]\nname = "a"\nfile = "t.py"\nline = 3\nexpression = "acc"\n'


def metric(name, **changes):
    values = {
        "name": name, "variable": "acc", "expression": "acc", "file": "t.py", "line": 3, "end_line": 3,
        "function": "<module>", "sink": "print", "kind": "quality", "direction": "higher", "aggregate": "last",
        "confidence": 0.9, "why": "", "capture": Capture(how="value"),
    }  # fmt: skip
    return Metric(**{**values, **changes})


def test_no_file_is_the_default(tmp_path):
    config = read_config(tmp_path)
    assert config.metric is None
    assert config.entry is None


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("entry = 3\n", 1, "entry"),
        (METRIC.replace("line = 3", 'line = "three"'), 4, "metric[0].line"),
        (METRIC + "\n" + METRIC.replace("file =", "fil ="), 9, "metric[1].fil"),
        (METRIC + 'direction = "up"\n', 6, "metric[0].direction"),
        ("[snapshot]\n# brought along\ninclde = []\n", 3, "snapshot.inclde"),
        ('[main_loop]\nfile = "t.py"\nline = "x"\n', 3, "main_loop.line"),
        ("colour = 1\n", 1, "colour"),
    ],
)
def test_a_mistake_is_named_by_key_and_line(tmp_path, text, line, words):
    (tmp_path / "deviate.toml").write_text(text)
    with pytest.raises(BadConfig) as caught:
        read_config(tmp_path)
    assert f"deviate.toml:{line}: {words}:" in caught.value.message


def test_broken_toml_names_the_line(tmp_path):
    (tmp_path / "deviate.toml").write_text("entry = 'a'\nmetric = ]\n")
    with pytest.raises(BadConfig, match="line 2"):
        read_config(tmp_path)


def test_what_is_written_reads_back(tmp_path):
    write_metrics(tmp_path, "t.py", [metric("acc", aggregate="best"), metric("dropped", selected=False)])
    config = read_config(tmp_path)
    assert config.entry == "t.py"
    assert [(m.name, m.aggregate, m.direction) for m in config.metric] == [("acc", "best", "higher")]


def test_writing_keeps_the_users_comments_and_tables(tmp_path):
    path = tmp_path / "deviate.toml"
    path.write_text('# mine\n[snapshot]\ninclude = ["w.pt"] # weights\n')
    write_metrics(tmp_path, "t.py", [metric("acc")])
    assert "# mine" in path.read_text()
    assert "# weights" in path.read_text()
    assert read_config(tmp_path).snapshot.include == ["w.pt"]


def test_unknown_direction_stays_unknown(tmp_path):
    write_metrics(tmp_path, "t.py", [metric("acc", direction=None)])
    assert read_config(tmp_path).metric[0].direction is None
