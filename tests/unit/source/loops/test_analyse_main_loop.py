"""Which of several loops that train is the main one, and which functions run in it."""

from __future__ import annotations

import textwrap

import pytest
from analysed_projects import HEAD, STEP, analyse

_INNER = textwrap.indent(STEP.strip(), " " * 12)


def line_of(text: str, marked: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if marked in line)


def test_a_loop_that_only_scores_weights_gives_way_to_one_that_changes_them(tmp_path):
    text = (
        HEAD + "def prune(epochs):\n    for epoch in range(epochs):\n        for x, y in loader:\n"
        "            model(x).sum().backward()\n"
        "def train_and_evaluate(epochs):\n    for epoch in range(epochs):  # main\n        for x, y in loader:\n"
        f"{_INNER}\n        print('loss', loss.item())\nprune(3)\ntrain_and_evaluate(3)\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_loop_over_models_that_are_trained_anew_is_not_the_main_one(tmp_path):
    text = (
        HEAD + "from tqdm import trange\ndef train():\n    optimizer = torch.optim.Adam(model.parameters())\n"
        "    epochs = trange(int(args.num_train_epochs), desc='Epoch')\n    for _ in epochs:  # main\n"
        f"        for x, y in loader:\n{_INNER}\n            print('loss', loss.item())\n"
        "for pattern in patterns:\n    train()\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_phases_of_a_training_are_no_iterations(tmp_path):
    text = (
        HEAD + "for number, phase in enumerate(phases):\n    for e in range(phase['end']):  # main\n"
        f"        for x, y in loader:\n{_INNER}\n        print('loss', loss.item())\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_method_that_is_asked_for_by_a_part_of_its_name_runs(tmp_path):
    text = (
        HEAD + "class Task:\n    def run(self, how):\n        getattr(self, 'fit_' + how)()\n"
        "    def fit_once(self):\n        for epoch in range(3):  # main\n          for x, y in loader:\n"
        f"{_INNER}\n            print('loss', loss.item())\nTask().run(choice)\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_method_that_is_called_eval_executes_no_text(tmp_path):
    module = (
        HEAD + "def other():\n    for epoch in range(3):\n        for x, y in loader:\n"
        f"{_INNER}\n        print('other loss', loss.item())\n"
        f"def run():\n    for epoch in range(3):\n        for x, y in loader:\n{_INNER}\n"
        "        print('loss', loss.item())\n    wrapper.eval(loader)\n"
    )
    findings = analyse(tmp_path, train="import work\nwork.run()\n", work=module)
    assert [metric.name for metric in findings.metrics if metric.selected] == ["loss"]


def test_a_loop_that_starts_threads_is_not_the_main_one(tmp_path):
    text = (
        HEAD
        + "import threading\ndef work():\n    step = 0\n    while step < 100:  # main\n        for x, y in loader:\n"
        f"{_INNER}\n            print('loss', loss.item())\n        step += 1\n"
        "for i in range(args.num_learners):\n    threading.Thread(target=work, name=str(i)).start()\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_loop_over_attempts_is_not_the_main_one(tmp_path):
    text = (
        HEAD + "tries = 10\nfor i in range(tries):\n    for epoch in range(3):  # main\n        for x, y in loader:\n"
        f"{_INNER}\n            print('loss', loss.item())\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_count_that_a_progress_bar_wraps_counts(tmp_path):
    text = (
        "from kit import Reporter, Trainer\nbar = Reporter(range(args.epochs))\nwith Trainer() as trainer:\n"
        "    for _ in bar:  # main\n        trainer.train(loader)\n        trainer.test(loader)\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_stage_that_makes_its_optimiser_is_not_the_main_loop(tmp_path):
    text = (
        HEAD
        + "def train():\n    for x, y in loader:\n"
        + textwrap.indent(STEP.strip(), " " * 8)
        + "\n    return loss\n"
        "for sp in range(len(widths)):\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "    for epoch in range(3):  # main\n        print('loss', train().item())\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_loop_that_counts_steps_beside_a_data_set_is_no_repetition(tmp_path):
    text = (
        HEAD + "def train(batch):\n    x, y = batch\n" + textwrap.indent(STEP.strip(), " " * 4) + "\n    return loss\n"
        "for step, (batch, dataset_state) in zip(range(100), loader):  # main\n    print('loss', train(batch).item())\n"
    )
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


def test_a_loop_that_runs_while_an_object_is_made_is_not_the_main_one(tmp_path):
    text = (
        HEAD + "import pytorch_lightning as pl\nclass Net:\n    def __init__(self):\n        self.fit_weights()\n"
        "    def fit_weights(self):\n        for epoch in range(3):\n            for x, y in loader:\n"
        + textwrap.indent(STEP.strip(), " " * 16) + "\n"
        "def work():\n    trainer = pl.Trainer()\n    trainer.fit(Net())  # main\nwork()\n"
    )  # fmt: skip
    assert analyse(tmp_path, train=text).main_loop.line == line_of(text, "# main")


_LEARNERS = """
class Greedy:
    def update(self, log, batch):
        for part in batch:
            loss = self.model(part).mean()
            loss.backward()
class Careful:
    def update(self, log, batch):
        for part in batch:
            loss = self.model(part).sum()
            loss.backward()
LEARNERS = {'greedy': Greedy, 'careful': Careful}
"""
_SCHOOL = """
class Notes:
    def update(self, line): self.lines.append(line)
class Pages:
    def update(self, page): self.page = page
class Marks:
    def update(self, mark): self.mark = mark
class School:
    def __init__(self, learner, batches):
        self.learner, self.batches, self.log = learner, batches, open('log')
    def go(self):
        for turn in range(9):
            self.learner.update(self.log, self.batches)
"""


@pytest.mark.parametrize("made", ["LEARNERS[args.learner]()", "Greedy()"])
def test_an_object_that_a_constructor_is_given_trains_by_a_method_of_a_common_name(tmp_path, made):
    train = f"""
    import argparse
    from learners import *
    from school import School
    args = argparse.ArgumentParser().parse_args()
    learner = {made}
    School(learner, load()).go()
    """
    found = analyse(tmp_path, train=train, learners=_LEARNERS, school=_SCHOOL).main_loop
    assert (found.file, found.variable) == ("school.py", "turn")


@pytest.mark.parametrize(("count", "line"), [("0", "second"), ("2", "first")])
def test_a_loop_that_goes_round_no_time_by_default_is_not_the_main_loop(tmp_path, count, line):
    text = HEAD + (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        f"parser.add_argument('--first', type=int, default={count})\nargs = parser.parse_args()\n"
        "def one_pass():\n    for x, y in loader:\n" + textwrap.indent(STEP.strip(), " " * 8) + "\n"
        "for first in range(args.first):\n    one_pass()\nfor second in range(9):\n    one_pass()\n"
    )
    assert analyse(tmp_path, train=text).main_loop.variable == line


def test_a_loop_by_the_numbers_of_several_models_repeats_trainings(tmp_path):
    text = HEAD + (
        "def fit(model):\n    for turn in range(9):\n        for x, y in loader:\n"
        + textwrap.indent(STEP.strip(), " " * 12)
        + "\n        print('loss', loss.item())\nmodels = [model, model]\n"
        "for i in range(len(models)):\n    fit(models[i])\n"
    )
    assert analyse(tmp_path, train=text).main_loop.variable == "turn"


def test_a_module_that_trains_in_its_forward_trains_where_it_is_called(tmp_path):
    """Meta-learners step their optimizer in `forward`, over the tasks of a batch."""
    text = HEAD + (
        "class Learner(torch.nn.Module):\n    def forward(self, tasks):\n        for x, y in tasks:\n"
        + textwrap.indent(STEP.strip(), " " * 12)
        + "\n        return loss\n"
        "learner = Learner().to('cpu')\nfor step in range(9):\n    print('loss', learner(loader).item())\n"
    )
    assert analyse(tmp_path, train=text).main_loop.variable == "step"


def test_what_a_constructor_is_given_from_below_chooses(tmp_path):
    text = HEAD + textwrap.dedent("""
    class Base:
        def __init__(self, mode):
            self.mode = mode
        def train(self):
            if self.mode == 'plain':
                self.plain()
            else:
                self.quick()
        def plain(self):
            for turn in range(9):
                self.one()
    class Own(Base):
        def __init__(self, mode='quick'):
            super().__init__(mode=mode)
        def quick(self):
            for hurry in range(9):
                self.one()
        def one(self):
            for x, y in loader:
                loss = ((model(x) - y) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    Own(mode='plain').train()
    """)
    assert analyse(tmp_path, train=text).main_loop.variable == "turn"
