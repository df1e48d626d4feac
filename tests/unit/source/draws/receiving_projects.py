"""Trainings that receive examples, made anew in each step, from a function whose own name tells nothing."""

from __future__ import annotations

_STEP = """
            loss = (model(x) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
"""

PROJECTS: dict[str, dict[str, str]] = {
    "a generator that is asked for its next value": {
        "train": """
        import torch
        def cycle(n):
            while True:
                numbers = torch.randint(2, 9, (n, 4)).long()  # !shuffle
                yield numbers, torch.cat((numbers, numbers), 1)
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        endless = cycle(8)
        for i in range(20):
            src, tgt = next(cycle(8))
            x = src.float()
"""
        + _STEP
        + """
            if i % 10 == 0:
                src, _ = next(cycle(8))
                print('accuracy', accuracy(model, src))
        """,
    },
    "lambdas that give real examples and noise": {
        "train": """
        import numpy as np
        import torch
        def bell(mean, deviation):
            return lambda n: torch.Tensor(np.random.normal(mean, deviation, (n, 1)))  # !shuffle
        def flat():
            return lambda n, width: torch.rand(n, width)  # !other
        def train():
            real, seeds_of_fakes = bell(4, 1.25), flat()
            critic, generator = torch.nn.Linear(1, 1), torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD([*critic.parameters(), *generator.parameters()], lr=0.1)
            for epoch in range(3):
                for step in range(4):
                    real_data = torch.autograd.Variable(real(16))
                    gen_input = torch.autograd.Variable(seeds_of_fakes(16, 2))
                    loss = critic(generator(gen_input)).mean() - critic(real_data).mean()
                    loss.backward()
                    optimizer.step()
                print('loss', loss.item())
        train()
        """,
    },
    "a lambda at the top of a file": {
        "train": """
        import torch
        spiral = lambda n: torch.rand(n, 2) * 6  # !shuffle
        wobble = lambda n: torch.randn(n, 2)  # !other
        model = torch.nn.Linear(2, 1)
        def main():
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for i in range(20):
                x = spiral(8)
                start = wobble(8)
"""
        + _STEP.replace("\n    ", "\n        ")
        + """
        main()
        """,
    },
    "a lambda that makes the data before the training": {
        "train": """
        import numpy as np
        import torch
        cloud = lambda n: np.random.rand(n, 2)  # !data
        examples = torch.tensor(cloud(100))
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(20):
            x = examples[i:i + 8]
"""
        + _STEP,
    },
    "a function for each step": {
        "train": """
        import torch
        def ring(n):
            angle = torch.rand(n, 1) * 6.28  # !shuffle
            return torch.cat((angle.cos(), angle.sin()), 1) + 0.1 * torch.randn(n, 2)  # !shuffle
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(20):
            x = ring(8)
"""
        + _STEP,
    },
    "functions that change what they are given, or start something else": {
        "train": """
        import torch
        examples = torch.load('examples.pt')
        def blur(values, strength):
            return values + strength * torch.randn(values.shape)  # !other
        def beginning(n):
            return torch.randn(n, 2)  # !other
        def dream(model, n):
            x = beginning(n)
            for t in range(5):
                x = x - model(x)
            return x
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(20):
            x = blur(examples[i:i + 8], 0.1)
"""
        + _STEP
        + """
            save(dream(model, 4))
        """,
    },
    "a data set that is made before the training, and anew in each epoch": {
        "train": """
        import torch
        from torch.utils.data import DataLoader
        from tasks import choose
        def validate(model, task):
            hard = task.make_set(4)  # !data
            return model(hard[0]).mean()
        def train_epoch(model, optimizer, task, size):
            loader = DataLoader(task.make_set(size))  # !shuffle
            for x in loader:
                loss = model(x).pow(2).mean()
                loss.backward()
                optimizer.step()
            print('loss', loss.item())
        def main(name):
            task = choose(name)
            held_out = task.make_set(16)  # !data
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(3):
                train_epoch(model, optimizer, task, 64)
                print('held out', model(held_out[0]).item(), validate(model, task))
        main('tours')
        """,
        "tasks": """
        import torch
        from torch.utils.data import Dataset
        class Places(Dataset):
            def __init__(self, size):
                self.places = [torch.rand(2) for _ in range(size)]  # !other
            def __len__(self):
                return len(self.places)
            def __getitem__(self, i):
                return self.places[i]
        class Tours:
            @staticmethod
            def make_set(*args):
                return Places(*args)
        class Packs:
            @staticmethod
            def make_set(*args):
                return Places(*args)
        class Routes(Tours): pass
        class Loads(Packs): pass
        def choose(name):
            task = {'tours': Tours, 'packs': Packs, 'routes': Routes, 'loads': Loads}.get(name)
            assert task is not None
            return task
        """,
    },
    "a data set that is made twice out of what a seed draws": {
        "train": """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset
        class Waves(Dataset):
            def __init__(self, size):
                rng = np.random.default_rng(5)
                self.waves = rng.normal(size=(size, 2))  # !data
            def __len__(self):
                return len(self.waves)
            def __getitem__(self, i):
                return self.waves[i]
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        first = Waves(4)
        for epoch in range(3):
            for x in DataLoader(Waves(64)):
                loss = model(x).pow(2).mean()
                loss.backward()
                optimizer.step()
            print('loss', loss.item())
        """,
    },
    "a probabilistic model that makes its own data": {
        "train": """
        import pyro
        import pyro.distributions as dist
        import torch
        from pyro.infer import SVI, Trace_ELBO
        def model(x=None):
            rate = pyro.sample('rate', dist.Gamma(1.0, 1.0))
            with pyro.plate('rows', 40, 8):
                return pyro.sample('x', dist.Poisson(rate), obs=x)
        def guide(x):
            a = pyro.param('a', torch.tensor(1.0))
            pyro.sample('rate', dist.Gamma(a, 1.0))
        data = model()  # !data
        inference = SVI(model, guide, pyro.optim.Adam({'lr': 0.01}), Trace_ELBO())
        for step in range(20):
            loss = inference.step(data)
            print('loss', loss)
        """,
    },
}
