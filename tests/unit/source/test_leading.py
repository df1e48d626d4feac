"""What a program imports first of all is known as long as it does nothing but import and define."""

import pytest

from deviate.source.imports import leading_packages

WANTED = {"numpy", "torch"}


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("'''Trains.'''\nimport torch.nn as nn\nfrom numpy import array\n", ["torch", "numpy"]),
        ("import yaml\nRATE = 0.1\n\ndef f(): pass\n\nimport torch\n", ["torch"]),
        ("import os\nos.environ['OMP_NUM_THREADS'] = '1'\nimport torch\n", []),
        ("from dotenv import load_dotenv\nload_dotenv()\nimport torch\n", []),
        ("try:\n    import torch\nexcept ImportError:\n    pass\n", []),
        ("import numpy\n@numpy.vectorize\ndef f(x): return x\nimport torch\n", ["numpy"]),
        ("import numpy\nimport setting\nimport torch\n", ["numpy"]),
        ("import numpy\nfrom pkg import model\n", ["numpy", "torch"]),
        ("import broken\nimport torch\n", []),
    ],
)
def test_packages_that_come_before_anything_is_done(text, packages, tmp_path):
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "setting.py").write_text("import os\nos.environ['A'] = 'B'\n")
    (tmp_path / "broken.py").write_text("import torch\nx = (\n")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("import torch\nimport pkg\n")
    assert leading_packages(tmp_path / "train.py", [tmp_path], WANTED) == packages
