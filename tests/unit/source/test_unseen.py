"""Lines whose outcome may be another in another run though nothing is drawn."""

import pytest

from deviate.source.lint import SHOWN, find_suspects


def suspects(tmp_path, source):
    (tmp_path / "train.py").write_text(source)
    return [(each.kind, each.line, each.text) for each in find_suspects(tmp_path, ["train.py"])]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("for name in set(names): use(name)", "hash"),
        ("for name in {'a', 'b'}: use(name)", "hash"),
        ("index = {name: i for i, name in enumerate(set(names))}", "hash"),
        ("known = set(names)\nfirst = list(known)", "hash"),
        ("known = frozenset(a) | set(b)\nfor name in known: use(name)", "hash"),
        ("class A:\n    def f(self):\n        self.names = set()\n        return [n for n in self.names]", "hash"),
        ("first = set(names).pop()", "hash"),
        ("text = ' '.join(set(names))", "hash"),
        ("both = [*set(names)]", "hash"),
        ("for name in set(a).union(b): use(name)", "hash"),
        ("bucket = hash(name) % 16", "hash"),
        ("import time\nx = time.time()", "clock"),
        ("from time import time\nx = time()", "clock"),
        ("from datetime import datetime as moment\nx = moment.now()", "clock"),
        ("import os\nx = os.urandom(4)", "entropy"),
        ("from uuid import uuid4\nx = uuid4()", "entropy"),
        ("import numpy as np\nx = np.random.default_rng().normal()", "entropy"),
        ("from random import Random\nx = Random().random()", "entropy"),
        ("import os\nfor name in os.listdir('.'): use(name)", "files"),
        ("from glob import glob\nfiles = glob('*.npy')", "files"),
        ("files = [use(f) for f in folder.rglob('*.npy')]", "files"),
        ("from threading import Thread\nThread(target=f).start()", "threads"),
        ("for done in pool.imap_unordered(f, x): use(done)", "threads"),
        ("import numpy as np\nx = np.empty(3)", "memory"),
        ("import torch\nx = torch.empty(3)", "memory"),
        ("import torch\nx = torch.Tensor(3, n)", "memory"),
        ("import torch\nx = torch.FloatTensor(*shape)", "memory"),
        ("import os\nif os.path.exists('a'): use('a')", "leftovers"),
        ("if path.exists(): use(path)", "leftovers"),
    ],
)
def test_a_line_that_depends_on_more_than_draws_is_suspected(tmp_path, source, kind):
    assert [found for found, _, _ in suspects(tmp_path, source)] == [kind]


@pytest.mark.parametrize(
    "source",
    [
        "for name in sorted(set(names)): use(name)",
        "index = {name: i for i, name in enumerate(sorted(set(names)))}",
        "count = len(set(names))",
        "known = {name for name in names}",
        "known = set(names)\nif 'a' in known: use('a')",
        "longest = max(len(name) for name in set(names))",
        "for name in names: use(name)",
        "stack.pop()",
        "import os\nfiles = sorted(os.listdir('.'))",
        "import os\nfiles = os.listdir('.')\nfiles.sort()",
        "import glob\nfiles = sorted(f for f in glob.glob('*') if f)",
        "import os\ncount = len(os.listdir('.'))",
        "empty = numpy_like.empty_cache()",
        "import torch\nx = torch.Tensor([1, 2])",
        "import numpy as np\nx = np.random.default_rng(3).normal(), np.random.RandomState(seed=3).rand()",
    ],
)
def test_what_does_not_depend_on_an_order_is_not_suspected(tmp_path, source):
    assert suspects(tmp_path, source) == []


def test_a_file_that_cannot_be_read_is_passed_over_and_a_long_line_is_cut(tmp_path):
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "long.py").write_text(f"x = hash({'+'.join(['name'] * 40)})")
    (suspect,) = find_suspects(tmp_path, ["broken.py", "gone.py", "long.py"])
    assert (suspect.file, suspect.line, len(suspect.text)) == ("long.py", 1, SHOWN)
