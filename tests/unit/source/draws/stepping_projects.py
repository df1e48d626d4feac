"""Trainings whose step is given one thing anew: what it learns from, or what only looks like that."""

from __future__ import annotations

_LOOP = """
        import random
        import jax
        import numpy as np
        from collections import namedtuple
        from tools import build, loss_of, optimizer, read
        Puzzle = namedtuple('Puzzle', ('grid', 'answer'))
        @jax.jit
        def improve(weights, state, given):
            slope = jax.grad(loss_of)(weights, given)
            return optimizer.update(slope, state, weights)
        def improve_twice(weights, state, given, also):
            return improve(weights, state, (given, also))
"""
_TOOLS = """
        class Optimizer:
            def update(self, slope, state, weights):
                return weights, state
        optimizer = Optimizer()
        def build(given): return {}
        def read(path): return open(path).readlines()
        def loss_of(weights, given): return 0.0
"""
_REPORT = """
                if step % 10 == 0:
                    print('loss', loss_of(weights, given))
        train()
"""


def _training(maker: str, loop: str, before: str = "weights, state = {}, {}") -> dict[str, str]:
    body = f"        def train():\n            {before}\n            for step in range(100):{loop}{_REPORT}"
    return {"train": f"{_LOOP}{maker}\n{body}", "tools": _TOOLS}


_MAKER = """
        def get_puzzle(least, most):
            width = random.randint(least, most)  # !{0}
            hidden = random.randint(1, width - 1)  # !{0}
            cells = [1 if cell < hidden else 0 for cell in range(width)]
            return Puzzle(grid=np.eye(2)[cells], answer=np.arange(width) < hidden)
"""
_MADE = """
                given = get_puzzle(*sizes)
                weights, state = improve(weights, state, given)"""

PROJECTS: dict[str, dict[str, str]] = {
    "a problem that is made of single numbers in each step": _training(
        _MAKER.format("shuffle"),
        _MADE,
        "sizes = (2, 15); state = {}; given = get_puzzle(*sizes); weights = network.init(0, given.grid)",
    ),
    "a problem that is also made before the training, to measure on": _training(
        _MAKER.format("other"),
        _MADE + "\n                print('accuracy', loss_of(weights, held_out))",
        "sizes = (2, 15); weights, state = {}, {}; held_out = get_puzzle(*sizes)",
    ),
    "an episode that an agent plays": _training(
        """
        def play(policy, length):
            moves = [random.randint(0, 3) for _ in range(length)]  # !other
            return Puzzle(grid=moves, answer=policy)
""",
        """
                given = play(weights, 9)
                weights, state = improve(weights, state, given)""",
    ),
    "one of two things that a step is given": _training(
        _MAKER.format("other"),
        """
                given = get_puzzle(2, 15)
                also = read('names.txt')
                weights, state = improve_twice(weights, state, given, also)""",
    ),
    "a rate that is drawn for each step": _training(
        """
        def draw_rate():
            return 10 ** random.uniform(-4, -1)  # !other
""",
        """
                given = draw_rate()
                weights, state = improve(weights, state, given)""",
    ),
    "an example that is chosen in each step": _training(
        "",
        """
                given = random.choice(puzzles)  # !shuffle
                weights, state = improve(weights, state, given)""",
        "weights, state = {}, {}; puzzles = read('puzzles.txt')",
    ),
    "the position of an example": _training(
        "",
        """
                position = random.randrange(len(puzzles))  # !shuffle
                given = puzzles[position]
                weights, state = improve(weights, state, given)""",
        "weights, state = {}, {}; puzzles = read('puzzles.txt')",
    ),
    "an example that is only shown": _training(
        "",
        """
                given = read('names.txt')
                weights, state = improve(weights, state, given)
                shown = puzzles[random.randrange(len(puzzles))]  # !other
                print(shown)""",
        "weights, state = {}, {}; puzzles = read('puzzles.txt')",
    ),
    "an action that is chosen in each step": _training(
        "",
        """
                action = random.choice(moves)  # !other
                given = weights
                weights, state = improve(weights, state, action)""",
        "weights, state = {}, {}; moves = read('moves.txt')",
    ),
    "a memory with a method of the name that a space of actions has": {
        "train": """
        import random
        import gymnasium as gym
        import torch
        class Memory:
            def __init__(self):
                self.kept = []
            def sample(self):
                chosen = random.sample(range(len(self.kept)), 8)  # !shuffle
                return torch.stack([self.kept[at] for at in chosen])
        env = gym.make('CartPole-v1')
        memory = Memory()
        model = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for episode in range(9):
            env.reset()
            for step in range(20):
                action = env.action_space.sample()  # !other
                state, reward, ended, cut, info = env.step(action)
                memory.kept.append(torch.tensor(state))
                loss = model(memory.sample()).mean()
                loss.backward()
                optimizer.step()
            print('reward', reward)
        """,
    },
    "a function of the project's own that is called fit and given the weights": {
        "train": """
        import jax
        import jax.numpy as jnp
        import optax
        first = {'hidden': jax.random.normal(jax.random.PRNGKey(0), (8, 3))}  # !init
        given = jax.random.normal(jax.random.PRNGKey(1), (100, 4, 8))  # !data
        def loss_of(params, batch):
            return (jnp.dot(batch, params['hidden']) ** 2).mean()
        def fit(params, optimizer, batches):
            state = optimizer.init(params)
            for step, batch in enumerate(batches):
                loss, slopes = jax.value_and_grad(loss_of)(params, batch)
                updates, state = optimizer.update(slopes, state, params)
                params = optax.apply_updates(params, updates)
                print(f'step {step}, loss: {loss}')
            return params
        fit(first, optax.adam(1e-2), given)
        """,
    },
}
