"""Each rule finds its line and is silent on what is written well."""

import pytest

from deviate.source.lint import RULES, lint, undetermined

DOCUMENTATION = '''
def use_deterministic_algorithms(mode):
    r"""
    The following normally-nondeterministic operations will throw a
    :class:`RuntimeError` when ``mode=True``:

        * :class:`torch.nn.MaxUnpool2d`
        * :func:`torch.nn.functional.interpolate` when attempting to differentiate a CUDA tensor
          and one of the following modes is used:

          - ``bilinear``
        * :func:`torch.bincount` when called on a CUDA tensor and ``weights``
          tensor is given
        * :func:`torch.Tensor.put_` when ``accumulate=False``

    In addition, several operations fill memory.
    """
'''

#: By rule: lines of which each is found, and lines that are not.
LINES = {
    "operation": (
        "import torch\nimport torch.nn.functional as F\n"
        "F.interpolate(x, mode='bilinear')\ntorch.nn.MaxUnpool2d(2)\nF.max_unpool2d(x, i, 2)\n"
        "torch.bincount(x, weights=w)\nx.put_(i, v)\n",
        "import torch\nimport torch.nn.functional as F\n"
        "F.interpolate(x, mode='nearest')\nF.interpolate(x, 2)\ntorch.bincount(x)\nnumpy.bincount(x, w)\n",
    ),
    "workers": (
        "from torch.utils.data import DataLoader\nDataLoader(data, shuffle=True, num_workers=2)\n",
        "from torch.utils.data import DataLoader\nDataLoader(data, shuffle=True, num_workers=0)\nDataLoader(data)\n"
        "DataLoader(data, shuffle=False, num_workers=2)\nDataLoader(data, 8, True, num_workers=2, worker_init_fn=f)\n",
    ),
    "listing": (
        "import os\nfiles = os.listdir(d)\nfor path in root.glob('*.png'): read(path)\n",
        "import os\nfiles = sorted(os.listdir(d))\nif os.listdir(d): stop()\nprint(len(os.listdir(d)))\n",
    ),
    "set": (
        "for word in set(words): add(word)\nindex = {w: i for i, w in enumerate(set(words))}\n",
        "for word in sorted(set(words)): add(word)\nn = len(set(words))\nif word in set(words): add(word)\n",
    ),
    "hash": ("bucket = hash(word) % 8\n", "class A:\n    def __hash__(self):\n        return hash(self.name)\n"),
    "clock": (
        "import time, torch, random\ntorch.manual_seed(int(time.time()))\nseed = time.time_ns()\n"
        "random.Random(time.time())\n",
        "import time, torch\nbegan = time.time()\ntorch.manual_seed(0)\nseed = 3\nprint(time.time() - began)\n",
    ),
    "append": (
        "import threading\nfound = []\ndef work(n):\n    found.append(n)\n"
        "for n in range(3): threading.Thread(target=work, args=[n]).start()\n",
        "import threading\ndef work(n):\n    own = []\n    own.append(n)\n"
        "for n in range(3): threading.Thread(target=work, args=[n]).start()\nfound = []\nfound.append(1)\n",
    ),
    "benchmark": (
        "import torch\ntorch.backends.cudnn.benchmark = True\n",
        "import torch\ntorch.backends.cudnn.benchmark = False\nbenchmark = True\n",
    ),
    "tf32": (
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\ntorch.set_float32_matmul_precision('high')\n",
        "import torch\ntorch.backends.cuda.matmul.allow_tf32 = False\ntorch.set_float32_matmul_precision('highest')\n",
    ),
}

#: Lines of each first program that are found.
FOUND = {"operation": 5, "listing": 2, "set": 2, "clock": 3, "tf32": 2}


def findings(folder, text):
    (folder / "train.py").write_text(text)
    (folder / "torch.py").write_text(DOCUMENTATION)
    return lint(folder, ["train.py"], folder / "torch.py")


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_its_line(tmp_path, rule):
    wrong, _ = LINES[rule]
    found = findings(tmp_path, wrong)
    assert {each.rule for each in found} == {rule}
    assert len(found) == FOUND.get(rule, 1)


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_silent_on_what_is_written_well(tmp_path, rule):
    _, well = LINES[rule]
    assert findings(tmp_path, well) == []


def test_the_operations_are_those_of_the_installed_version(tmp_path):
    (tmp_path / "torch.py").write_text(DOCUMENTATION)
    assert undetermined(tmp_path / "torch.py") == {
        "torch.nn.MaxUnpool2d": "",
        "torch.nn.functional.interpolate": "when attempting to differentiate a CUDA tensor",
        "torch.bincount": "when called on a CUDA tensor and weights tensor is given",
        "torch.Tensor.put_": "when accumulate=False",
    }
    assert undetermined(tmp_path / "missing.py") == {}
