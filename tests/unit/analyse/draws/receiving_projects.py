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
}
