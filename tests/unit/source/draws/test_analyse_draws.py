"""Which calls draw random numbers, and which factor each draw is of."""

from __future__ import annotations

import re
import textwrap

import pytest
from analysed_projects import analyse, looped
from collecting_projects import PROJECTS as COLLECTING
from drawing_projects import PROJECTS as DRAWING
from making_projects import PROJECTS as MAKING
from receiving_projects import PROJECTS as RECEIVING
from stepping_projects import PROJECTS as STEPPING

from deviate.core.experiment import Findings

PROJECTS = {**COLLECTING, **DRAWING, **MAKING, **RECEIVING, **STEPPING}
_TOLD = re.compile(r"!(\w+)")


def factors(findings: Findings) -> list[tuple[str, int, str]]:
    return sorted((draw.file, draw.line, draw.factor) for draw in findings.draws)


def marked_factors(files: dict[str, str]) -> list[tuple[str, int, str]]:
    """Return the factors in the comments at the ends of lines."""
    return sorted(
        (f"{name}.py", number, factor)
        for name, text in files.items()
        for number, line in enumerate(text.split("\n"), 1)
        for factor in _TOLD.findall(line)
    )


@pytest.mark.parametrize("name", PROJECTS)
def test_each_draw_of_a_training_is_of_its_factor(tmp_path, name):
    findings = analyse(tmp_path, **PROJECTS[name])
    assert factors(findings) == marked_factors(PROJECTS[name]), [
        (draw.line, draw.factor, draw.why) for draw in findings.draws
    ]
    assert all(draw.why and draw.call for draw in findings.draws)


def in_loop(line: str, before: str = "") -> str:
    return looped(f"{line}\nprint('loss', loss.item())", before)


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("torch.rand(3)", "torch.rand"),
        ("v = torch.zeros(3).exponential_()", "Tensor.exponential_"),
        ("v = probs.multinomial(1)", "Tensor.multinomial"),
        ("v = df.sample(frac=1)", "df.sample"),
        ("v = stats.norm.rvs(size=3)", "stats.norm.rvs"),
        ("import scipy; v = scipy.stats.norm.rvs(size=3)", "scipy.stats.norm.rvs"),
        ("v = self_rng.integers(3)", "self_rng.integers"),
        ("v = torch.distributions.Beta(1, 2).sample()", "torch.distributions.Beta(1, 2).sample"),
    ],
)
def test_a_call_that_draws_is_named(tmp_path, line, call):
    assert [draw.call for draw in analyse(tmp_path, train=in_loop(line)).draws if draw.line > 10] == [call]


@pytest.mark.parametrize(
    "line",
    [
        "v = list(map(random.random, range(3)))",
        "v = functools.partial(torch.randn, 3)",
        "v = loader.sample(3)",
        "v = model.uniform(3)",
        "v = torch.nn.init.normal_(w)",
        "v = shuffle(loader)",
        "np.random.seed(3); torch.manual_seed(3); g = np.random.default_rng(3)",
        "v = jax.random.split(jax.random.PRNGKey(0))",
        "v = transform(x)",
    ],
)
def test_what_does_not_draw_here_is_no_draw(tmp_path, line):
    before = """
    import functools, random
    import jax
    import numpy as np
    from torchvision import transforms
    transform = transforms.Compose([transforms.Resize(3), transforms.ToTensor()])
    def shuffle(items): return items
    """
    assert [draw for draw in analyse(tmp_path, train=in_loop(line, before)).draws if draw.line > 16] == []


def test_the_span_is_that_of_the_callee(tmp_path):
    findings = analyse(tmp_path, train="import numpy as np\nx = 3 * np.random.randn(4).T\n")
    (draw,) = findings.draws
    assert (draw.span.line, draw.span.column, draw.span.end_column) == (2, 8, 23)


def test_code_that_is_never_run_draws_nothing(tmp_path):
    train = "import helper\nhelper.used()\n"
    helper = """
    import random
    def used():
        return random.random()
    def unused():
        return random.random()
    if __name__ == '__main__':
        random.random()
    """
    assert [draw.line for draw in analyse(tmp_path, train=train, helper=helper).draws] == [4]


def test_a_function_called_from_places_of_several_kinds_is_of_none(tmp_path):
    train = """
    import torch
    from torch.utils.data import Dataset

    def gauss(shape):
        return torch.randn(shape)

    class Noisy(Dataset):
        def __getitem__(self, i):
            return gauss(3)

    class Net(torch.nn.Module):
        def forward(self, x):
            return x + gauss(x.shape)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x in torch.utils.data.DataLoader(Noisy()):
            loss = model(x).mean()
            loss.backward()
            optimizer.step()
        print('loss', loss.item())
    """
    (draw,) = analyse(tmp_path, train=train).draws
    assert draw.factor == "other"
    assert "several kinds" in draw.why


@pytest.mark.parametrize("update", ["w = step(w)", "w = step(w) + 0.01 * noise(rng)", "w = 0.9 * w + step(w)"])
def test_an_array_that_the_training_makes_anew_of_itself_is_a_parameter(tmp_path, update):
    train = f"""
    import numpy as np
    rng = np.random.default_rng()
    w = rng.normal(size=5)
    for epoch in range(20):
        {update}
        print('loss', loss(w))
    """
    (first,) = [draw for draw in analyse(tmp_path, train=train).draws if draw.line == 4]
    assert (first.factor, first.by_name) == ("init", False)


def test_names_of_parameters_make_no_parameters_of_what_targets_are_made_with(tmp_path):
    train = """
    import numpy as np
    data = np.random.randn(100, 3)
    weights = np.random.randn(3, 2)
    bias = np.random.randn(2)
    theta = np.random.randn(2)
    answers = data @ weights + bias
    w = np.zeros((3, 2))
    for epoch in range(20):
        w -= 0.1 * data.T @ (data @ w - answers)
        print('loss', ((data @ w - answers) ** 2).mean())
    """
    draws = analyse(tmp_path, train=train).draws
    assert [draw.factor for draw in draws] == ["data", "data", "data", "other"]
    assert [draw.by_name for draw in draws] == [True, False, False, False]


def test_what_the_training_adds_to_is_no_data_and_a_parameter_where_it_is_called_one(tmp_path):
    train = """
    import numpy as np
    weights = np.random.randn(2)
    rest = np.random.randn(2)
    kept = np.random.randn(2)
    for epoch in range(20):
        change = kept - weights - rest
        weights += 0.1 * change
        rest += change
        loss = float(np.sum(weights ** 2))
        print(f'loss {loss:.9f}')
    """
    assert [draw.factor for draw in analyse(tmp_path, train=train).draws] == ["init", "other", "data"]


def test_a_name_that_is_bound_anew_says_nothing_of_what_it_held_before(tmp_path):
    after = """
    rows = list(range(100))
    t = rows[::-1]
    shown = [examples[i] for i in t]
    """
    train = in_loop("t = torch.randint(0, 9, (4,))\nnoisy = x + t[:, None]", "examples = torch.zeros(100, 2)")
    (draw,) = [draw for draw in analyse(tmp_path, train=train + textwrap.dedent(after)).draws if draw.line > 10]
    assert draw.factor == "other"
    picked = in_loop("t = torch.randint(0, 9, (4,))\nt = t.long()\nx = examples[t]", "examples = torch.zeros(100, 2)")
    (draw,) = [draw for draw in analyse(tmp_path, train=picked).draws if draw.line > 10]
    assert draw.factor == "shuffle"


def test_a_factor_that_names_alone_tell_is_marked(tmp_path):
    train = """
    import random
    import torch

    def make_data(count):
        return torch.randn(count, 2)

    class Replay:
        def pick(self):
            return random.sample(self.rows, 4)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.rand(2))
            self.shift = torch.rand(2)

    examples, memory, model = make_data(100), Replay(), Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        rows = memory.pick()
        loss = model(examples[rows]).mean()
        loss.backward()
        optimizer.step()
        print('loss', loss.item())
    """
    draws = {draw.call: (draw.factor, draw.by_name) for draw in analyse(tmp_path, train=train).draws}
    assert draws == {
        "torch.randn": ("data", True), "random.sample": ("shuffle", True), "torch.rand": ("init", False),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("compiled", "is_left"),
    [
        ("model = Net()", False),
        ("model = torch.compile(Net())", True),
        ("model = torch.jit.script(Net())", True),
        ("model = Net(); model.compile()", True),
        ("model = Net(); model.compile(mode='max-autotune')", True),
    ],
)
def test_what_a_compiler_reads_is_left_as_it_is(tmp_path, compiled, is_left):
    train = f"""
    import torch
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.rand(3))
        def forward(self, x):
            return self.noisy(x)
        def noisy(self, x):
            return x + torch.randn_like(x)
    {compiled}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        print('loss', loss.item())
    """
    init, layers = analyse(tmp_path, train=train).draws
    assert init.factor == "init"
    assert init.span is not None
    assert layers.factor == "layers"
    assert (layers.span is None) is is_left
    assert ("compiler" in layers.why) is is_left


def test_a_function_mapped_over_a_tensorflow_data_set_is_left_as_it_is(tmp_path):
    train = """
    import tensorflow as tf
    def augment(image, label):
        return tf.image.random_flip_left_right(image), label
    data = tf.data.Dataset.from_tensor_slices(x).map(augment, num_parallel_calls=4)
    """
    (draw,) = analyse(tmp_path, train=train).draws
    assert (draw.factor, draw.span) == ("augment", None)


def test_a_value_drawn_for_each_number_of_an_array_is_left_as_it_is(tmp_path):
    train = in_loop("values = [torch.rand(1) for _ in range(1000)]")
    draws = [draw for draw in analyse(tmp_path, train=train).draws if draw.line > 10]
    assert [(draw.factor, draw.span) for draw in draws] == [("other", None)]


@pytest.mark.parametrize(
    "line",
    [
        "torch.manual_seed(random.randint(0, 99))",
        "seed = int(torch.empty((), dtype=torch.int64).random_().item())",
        "g = np.random.default_rng(seed=np.random.randint(99))",
        "a, b = train_test_split(loader, random_state=np.random.randint(99))",
        "n = random.getrandbits(32); set_seed(n)",
        "key = jax.random.PRNGKey(np.random.randint(99))",
        "env.reset(seed=random.randrange(99))",
    ],
)
def test_a_draw_that_becomes_a_seed_is_a_seed(tmp_path, line):
    head = "import random, jax\nimport numpy as np\nfrom sklearn.model_selection import train_test_split\n"
    findings = analyse(tmp_path, train=head + line + "\n")
    assert [draw.factor for draw in findings.draws if "train_test_split" not in draw.call] == ["seed"]
