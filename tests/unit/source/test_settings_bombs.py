"""Settings that are no files, or would take all memory, are refused; names and files of others end no command."""

import os

import pytest

from deviate.core.errors import BadConfig
from deviate.source.config import read_config
from deviate.source.files import console_scripts
from deviate.source.settings.options import read_settings

LONG = ["a" + ".a" * 50_000 + " = 1", "['a'" + " . 'a'" * 50_000 + "]", "x = {" + "a." * 50_000 + "b = 1}"]


@pytest.mark.parametrize("text", [*LONG, "x = " + "[" * 50_000 + "]" * 50_000, "#" * (2 << 20)])
def test_a_configuration_that_would_take_all_memory_is_refused(tmp_path, text):
    (tmp_path / "deviate.toml").write_text(text)
    with pytest.raises(BadConfig):
        read_config(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text)
    assert console_scripts(tmp_path) == []


def test_settings_that_are_pipes_or_devices_are_not_read(tmp_path):
    for name in ("deviate.toml", "pyproject.toml", "setup.cfg", "setup.py", "config.yaml"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    with pytest.raises(BadConfig, match="expected a file"):
        read_config(tmp_path)
    assert console_scripts(tmp_path) == []
    assert read_settings(tmp_path / "config.yaml") == read_settings(tmp_path / "zero.json") == {}


def test_a_reference_in_setup_cfg_is_no_reference(tmp_path):
    (tmp_path / "train.py").write_text("def main(): pass\n")
    (tmp_path / "setup.cfg").write_text(
        "[options.entry_points]\nconsole_scripts =\n    go = train:main\n    x = %(y)s\n"
    )
    assert [script.name for script in console_scripts(tmp_path)] == ["go"]
