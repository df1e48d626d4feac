"""Results that functions hand back: of alternatives, of records, of abstract methods, of mappings that are changed."""

from __future__ import annotations

from textwrap import dedent

from analysed_projects import HEAD, analyse, looped, names


def test_what_an_excluded_branch_returns_is_no_result(tmp_path):
    models = "import torch\n" + "".join(
        f"""
class Model{n}:
    def __init__(self):
        self.net = torch.nn.Linear(2, 1)
    def learn(self, x, y):
        return 0
"""
        for n in range(8)
    )
    chosen = """
class Chosen:
    def __init__(self):
        self.net = torch.nn.Linear(2, 1)
    def learn(self, x, y):
        for epoch in range(3):
            loss = ((self.net(x) - y) ** 2).mean()
            loss.backward()
        return loss.item()
"""
    branches = "".join(f"    if name == 'm{n}':\n        return Model{n}()\n" for n in range(8))
    factory = f"{models}{chosen}\ndef make(name):\n{branches}    if name == 'chosen':\n        return Chosen()\n"
    train = """
    import argparse, torch
    from factory import make
    parser = argparse.ArgumentParser()
    parser.add_argument('--model', default='chosen', choices=['m0', 'chosen'])
    args = parser.parse_args()
    model = make(args.model)
    curve = {'cost': []}
    for task in range(3):
        value = model.learn(torch.ones(4, 2), torch.ones(4, 1))
        curve['cost'].append(value)
        print('curve', curve['cost'])
        print('Average cost', sum(curve['cost']) / len(curve['cost']))
    """
    assert "curve['cost']" in names(analyse(tmp_path, train=train, factory=factory))


def test_method_that_only_raises_gives_what_others_of_its_name_give(tmp_path):
    losses = """
class Base:
    def pair_loss(self, x, y):
        raise NotImplementedError
class Pairs(Base):
    def pair_loss(self, x, y):
        raise NotImplementedError('of pairs')
class Net(Base):
    def pair_loss(self, x, y):
        return ((model(x) - y) ** 2).mean(), model.weight.norm()
class Criterion:
    def __init__(self, model: Pairs):
        self.model = model
    def step(self, x, y):
        first, second = self.model.pair_loss(x, y)
        return (first + second).item()
criterion = Criterion(net_of_settings)
total = 0.
"""
    report = "c = criterion.step(x, y)\ntotal += c\nprint(f'{total:.3f}')"
    assert names(analyse(tmp_path, train=looped(report, losses))) == {"total": "value"}


def test_fields_of_a_record_are_what_it_is_made_of(tmp_path):
    engine = (
        HEAD
        + """
from typing import NamedTuple
class Results(NamedTuple):
    accuracy: float
    cost: float
    note: str = ''
    def __str__(self):
        return f'accuracy {self.accuracy} cost {self.cost}'
def evaluate():
    right = (model(loader[0][0]) > 0).float().mean()
    cost = ((model(loader[0][0]) - loader[0][1]) ** 2).mean()
    return Results(right.item(), cost=cost.item())
"""
    )
    train = """
    from engine import evaluate, model, optimizer, loader
    for epoch in range(3):
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
        results = evaluate()
        text = str(results).replace('accuracy', 'acc')
        print(f'epoch {epoch}: {text}')
        print('again: {}'.format(results.cost))
    """
    found = [metric for metric in analyse(tmp_path, train=train, engine=engine).metrics if metric.selected]
    assert {metric.variable for metric in found} == {"right", "cost", "results.cost"}
    assert {metric.file for metric in found} == {"engine.py", "train.py"}


def test_items_that_are_added_to_are_named_by_their_mapping(tmp_path):
    evaluate = """
def evaluate():
    results = {'recall': 0.0, 'precision': 0.0}
    for x, y in loader:
        right = (model(x) > 0).float()
        results['recall'] += right.mean().item()
        results['precision'] += right.sum().item()
    results['recall'] /= len(loader)
    results['precision'] /= len(loader)
    print(results)
    return results
"""
    assert names(analyse(tmp_path, train=looped("evaluate()", evaluate))) == {
        "results['recall']": "value",
        "results['precision']": "value",
    }


def test_two_loops_over_different_mappings_report_different_values(tmp_path):
    report = """
    for key, value in {'loss': loss, **model.losses(x)}.items():
        writer.add_scalar(key, value.item(), epoch)
    for key, value in evaluate(model).items():
        writer.add_scalar('validation/' + key, value, epoch)
    """
    before = "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()"
    found = [metric for metric in analyse(tmp_path, train=looped(report, before)).metrics if metric.selected]
    assert sorted(metric.name for metric in found) == ["validation/{key}", "{key}"]


def test_values_of_three_mappings_by_position_stay_apart(tmp_path):
    report = """
    results = {'recall': (model(x) > 0).sum(0), 'ndcg': (model(x) > 1).sum(0)}
    writer.add_scalars('recall', {str(k): results['recall'][k] for k in range(3)}, epoch)
    writer.add_scalars('ndcg', {str(k): results['ndcg'][k] for k in range(3)}, epoch)
    """
    before = "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter()"
    found = names(analyse(tmp_path, train=looped(report, before)))
    assert found == {"results['recall']": "mapping", "results['ndcg']": "mapping"}


def test_one_value_in_a_text_that_is_shown_twice_is_one_metric(tmp_path):
    engine = (
        HEAD
        + """
def describe():
    cost = ((model(loader[0][0]) - loader[0][1]) ** 2).mean().item()
    return f'cost {cost:.3f}'
"""
    )
    train = """
    from engine import describe, model, optimizer, loader
    def fit():
        for epoch in range(3):
            for x, y in loader:
                loss = ((model(x) - y) ** 2).mean()
                loss.backward()
                optimizer.step()
            print('epoch', describe())
    fit()
    print('finally', describe())
    """
    assert [metric.variable for metric in analyse(tmp_path, train=train, engine=engine).metrics] == ["cost"]


def test_value_that_may_be_a_setting_is_shown_where_a_tracker_is_given_it(tmp_path):
    report = """
    import wandb
    wandb.log({'spread': measure(), 'splits': args.splits})
    """
    before = """
    import argparse
    from away import divided
    args = argparse.ArgumentParser().parse_args()
    def measure(splits=10):
        return divided(splits)
    """
    assert names(analyse(tmp_path, train=looped(report, before))) == {"measure()": "value"}


SCANNED = """
import jax
import wandb
from typing import NamedTuple
from outside import agent, fresh

class State(NamedTuple):
    weights: dict
    reward: float

def over_batches(state):
    state, scores = jax.lax.scan(lambda state, _: agent.trained(state), state, None, 8)
    return state, jax.tree_util.tree_map(jax.numpy.mean, scores)

run = wandb.init()
state = State(weights=fresh(), reward=fresh())
for epoch in range(3):
    state, scores = over_batches(state)
    run.log(scores)
"""


def test_outputs_of_a_compiled_loop_are_not_the_state_that_it_hands_on(tmp_path):
    assert [metric.variable for metric in analyse(tmp_path, train=SCANNED).metrics] == ["scores"]


def test_a_tensor_that_is_trained_is_no_setting(tmp_path):
    before = """
    class Heat:
        def __init__(self, heat=0.1, learns=True):
            self.heat = heat
            if learns:
                self.log_heat = torch.zeros(1, requires_grad=True)
                self.heat = self.log_heat.exp().item()
    held = Heat()
    """
    report = "writer.add_scalar('temperature', held.heat, i)"
    assert list(names(analyse(tmp_path, train=looped(report, before)))) == ["held.heat"]


def test_a_method_that_is_called_by_the_beginning_of_its_name_gives_what_such_methods_give(tmp_path):
    text = """
class Trainer:
    def sample_all(self):
        return {'q': ((model(loader[0][0]) - 1) ** 2).mean().item()}

    def run(self, how):
        for epoch in range(2):
            for x, y in loader:
                loss = ((model(x) - y) ** 2).mean()
                loss.backward()
                optimizer.step()
            sampled = getattr(self, 'sample_' + how)()
            print('q %.3f' % sampled['q'])

Trainer().run('all')
"""
    assert "sampled['q']" in names(analyse(tmp_path, train=HEAD + text))


def test_a_step_in_an_environment_gives_a_reward(tmp_path):
    """It is summed in a process of its own, which runs beside the training."""
    text = (
        HEAD
        + dedent("""
    import multiprocessing
    from worlds import world
    class Worker(multiprocessing.Process):
        def __init__(self, env):
            super().__init__()
            self.env, self.rall, self.steps = env, 0, 0
        def run(self):
            while True:
                seen, gain, done, info = self.env.step(3)
                self.rall += gain
                self.steps += 1
                if done:
                    print('Steps: {} Reward: {}'.format(self.steps, self.rall))
    worker = Worker(world())
    worker.start()
    other = Worker.run
    """)
        + looped("print('loss', loss.item())").removeprefix(HEAD)
    )
    assert set(names(analyse(tmp_path, train=text))) == {"loss", "self.rall"}
