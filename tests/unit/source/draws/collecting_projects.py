"""Trainings that learn from what they collect, that act, and that draw beside other draws."""

from __future__ import annotations

_HEAD = """
        import collections
        import random
        import numpy as np
        import torch
        net = torch.nn.Linear(2, 1)
        opt = torch.optim.Adam(net.parameters(), 0.01)
"""
_LEARN = """
            loss = net(x).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print('loss', loss.item())
"""


def _collecting(pick: str, population: str = "collections.deque(maxlen=200)") -> dict[str, str]:
    body = f"""        memory = {population}
        for step in range(60):
            state = torch.randn(2)  # !other
            memory.append((state, float(state.sum())))
            {pick}
            x = torch.stack([kept[0] for kept in batch])
"""
    return {"train": f"{_HEAD}{body}{_LEARN}"}


_AGENT = """
        class Agent:
            def __init__(self):
                self.seen = []
            def take_in(self, state):
                self.seen.append(state)
            def learn(self):
                idx = np.random.randint(0, len(self.seen), 8)  # !shuffle
                loss = net(torch.stack([self.seen[i] for i in idx])).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
                return loss.item()
        agent = Agent()
        for step in range(60):
            agent.take_in(torch.zeros(2))
            print('loss', agent.learn())
"""

_ROLLOUT = """
        for update in range(10):
            seen = []
            for t in range(64):
                action = torch.distributions.Normal(0, 1).sample()  # !other
                seen.append(action)
            seen = torch.stack(seen)
            for epoch in range(3):
                perm = torch.randperm(64)  # !shuffle
                for start in range(0, 64, 16):
                    loss = net(seen[perm[start : start + 16]]).pow(2).mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            print('loss', loss.item())
"""

_MIXED = """
        x = torch.zeros(64, 2)
        for epoch in range(10):
            for i in range(4):
                index = torch.randperm(16)  # !other
                loss = net(x[:16] + x[:16][index]).pow(2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            print('loss', loss.item())
"""

_EVOLVED = """
        population = [[0.0, 1.0], [1.0, 0.0]]
        for generation in range(10):
            one, other = random.sample(population, 2)  # !other
            population.append([a + b for a, b in zip(one, other)])
            print('fitness', sum(population[-1]))
"""

_ACTOR = """
        class Actor(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net
            def forward(self, obs):
                dist = torch.distributions.Normal(self.net(obs), 1)
                action = dist.sample()  # !other
                return action, dist.log_prob(action) + torch.randn(1)  # !layers
            def select_action(self, obs):
                dist = torch.distributions.Normal(self.net(obs), 1)
                return dist.sample()  # !other
        actor = Actor()
        for step in range(10):
            action, logs = actor(torch.zeros(2))
            actor.select_action(torch.zeros(2))
            loss = -logs.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print('loss', loss.item())
"""


_RING = """
        ring = [None] * 50
        met = 0
        def learn():
            idx = np.random.randint(0, min(met, 50), 8)  # !shuffle
            loss = net(torch.stack([ring[i] for i in idx])).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss.item()
        for step in range(60):
            ring[met % 50] = torch.zeros(2)
            met += 1
            print('loss', learn())
"""

_MASKED = """
        def mask(inputs):
            before = inputs.clone()
            chosen = torch.bernoulli(torch.full(before.shape, 0.2)).bool()  # !other
            inputs[chosen] = 9
            words = torch.randint(9, before.shape)  # !other
            inputs[chosen] = words[chosen].float()
            return inputs, before
        for step in range(60):
            masked, kept = mask(torch.zeros(8, 2))
            loss = (net(masked) - kept).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print('loss', loss.item())
"""

_BY_HAND = """
        w = np.zeros(2)
        lr = 0.01
        for update in range(10):
            kept = []
            for t in range(32):
                kept.append((np.random.rand(), 1.0))  # !other
            order = np.random.permutation(32)  # !shuffle
            for start in range(0, 32, 8):
                for i in order[start : start + 8]:
                    w += lr * kept[i][1] * kept[i][0]
            print('reward', w.mean())
"""

_GIVEN = """
        from world import World
        class Policy(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net
            def forward(self, seen):
                dist = torch.distributions.Normal(self.net(seen), 1)
                u = torch.tanh(dist.sample())  # !other
                return 2 * u, dist.log_prob(u)
            def imagine(self, seen):
                return self.forward_pass(seen)
            def forward_pass(self, seen):
                return self.net(seen) + torch.randn(1)  # !layers
        def pick(seen):
            return random.randrange(3)  # !other
        world, policy = World(), Policy()
        for step in range(10):
            move, logs = policy(torch.zeros(2))
            guess = policy.imagine(torch.zeros(2))
            seen, reward, done = world.step(move.item())
            seen, reward, done = world.step([pick(seen)])
            seen, reward, done = world.step(int(torch.multinomial(torch.ones(2), 1)))  # !other
            loss = -logs.sum() * reward + guess.sum()
            opt.zero_grad()
            loss.backward()
            opt.step()
            print('loss', loss.item())
"""


def _made(maker: str) -> dict[str, str]:
    body = f"""        {maker}
        xs = []
        while len(xs) < 40:
            xs.append([make(), make()])
        x = torch.tensor(xs, dtype=torch.float)
        for epoch in range(5):
"""
    return {"train": f"{_HEAD}{body}{_LEARN}"}


PROJECTS: dict[str, dict[str, str]] = {
    "minibatches of a replay memory": _collecting("batch = random.sample(memory, 8)  # !shuffle"),
    "positions in a replay memory": _collecting(
        "batch = [memory[i] for i in np.random.choice(len(memory), 8)]  # !shuffle", "[]"
    ),
    "elements of a replay memory, one by one": _collecting(
        "batch = [random.choice(memory) for _ in range(8)]  # !shuffle", "[]"
    ),
    "positions in a memory that is written over": {"train": _HEAD + _RING},
    "minibatches of a rollout, without a framework": {"train": _HEAD + _BY_HAND},
    "tokens that take the place of some in a batch": {"train": _HEAD + _MASKED},
    "what an environment is given": {"train": _HEAD + _GIVEN},
    "one element of what is collected": _collecting("batch = [random.choice(memory)]  # !other", "[]"),
    "a replay memory of a class": {"train": _HEAD + _AGENT},
    "minibatches of a rollout": {"train": _HEAD + _ROLLOUT},
    "an order that mixes a batch": {"train": _HEAD + _MIXED},
    "parents in an evolution": {"train": _HEAD + _EVOLVED},
    "actions in a forward pass": {"train": _HEAD + _ACTOR},
    "how many are drawn within a lambda": _made(
        "make = lambda: int(''.join(np.random.choice(list('12')) for i in range(np.random.randint(1, 4))))"
        "  # !data !data"
    ),
    "what a lambda gives to map": _made(
        "make = lambda: list(map(lambda k: random.gauss(0, 1) + random.randint(0, k), range(3)))[0]  # !data !data"
    ),
    "one number that a function gives a loop": _made("def make(): return random.gauss(0, 1)  # !data"),
    "how many, for a lambda in a function": _made(
        """def make():
            part = lambda n: int("".join(random.choice("12") for _ in range(n)))  # !data
            return part(random.randrange(1, 3))  # !data"""
    ),
    "how many are drawn of single numbers": _made(
        "make = lambda: sum(random.randint(0, 9) for _ in range(random.randrange(1, 3)))  # !data !data"
    ),
}
