"""Trainings whose data, parameters and other things are drawn by plain code before the training."""

from __future__ import annotations

_TORCH_LOOP = """
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            loss = (model(examples) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
"""

PROJECTS: dict[str, dict[str, str]] = {
    "curves drawn one by one": {
        "train": """
        import numpy as np
        import numpy.random as npr
        import torch

        def curves(count, length, spread):
            base = np.stack([np.sin(np.linspace(0, 6, 200)), np.cos(np.linspace(0, 6, 200))], axis=1)
            back = base[::-1]
            cut = []
            for _ in range(count):
                start = np.argmax(npr.multinomial(1, [1 / 100] * 100))  # !data
                turned = bool(npr.rand() > 0.5)  # !data
                piece = (back if turned else base)[start:start + length].copy()
                piece += npr.randn(*piece.shape) * spread  # !data
                cut.append(piece)
            return base, np.stack(cut)

        base, pieces = curves(100, 20, 0.1)
        examples = torch.from_numpy(pieces).float()
"""
        + _TORCH_LOOP,
    },
    "a data class that draws its examples when it is made": {
        "train": """
        from dataclasses import dataclass, field
        import numpy as np
        import torch

        @dataclass
        class Points:
            rng: np.random.Generator
            x: np.ndarray = field(init=False)

            def __post_init__(self):
                self.x = self.rng.uniform(0, 1, size=(100, 2))  # !data

            def tensor(self):
                return torch.from_numpy(self.x).float()

        examples = Points(np.random.default_rng(1)).tensor()
"""
        + _TORCH_LOOP,
    },
    "a simulated series with arithmetic like an update": {
        "train": """
        import torch
        from series import simulate
        examples = torch.tensor(simulate(200, 0.1))
"""
        + _TORCH_LOOP,
        "series": """
        import numpy as np
        def simulate(steps, rate):
            x = np.random.randn(2)  # !data
            v = np.random.uniform(-1, 1, 2)  # !data
            seen = []
            for t in range(steps):
                x = x - rate * (x ** 3 - x)
                v -= rate * x
                x = step(x) + 0.1 * np.random.randn(2)  # !data
                seen.append(np.concatenate([x, v]))
            return np.array(seen)
        def step(x):
            return 0.9 * x
        """,
    },
    "lists filled at the top of a file": {
        "train": """
        import random
        import numpy as np
        import torch
        rows, classes = [], []
        for i in range(50):
            centre = random.choice([-1.0, 1.0])  # !data
            rows.append([random.gauss(centre, 1), random.gauss(-centre, 1)])  # !data !data
            classes.append(centre)
        table = np.array(rows)
        table = table + np.random.standard_normal(table.shape)  # !data
        examples = torch.tensor(table)
"""
        + _TORCH_LOOP,
    },
    "weights of a teacher": {
        "train": """
        import numpy as np
        def problem(n, rng):
            w = rng.normal(size=5)  # !data
            features = rng.normal(size=(n, 5))  # !data
            return features, features @ w
        rng = np.random.default_rng(0)
        teacher = rng.uniform(size=(5, 3))  # !data
        features, answers = problem(100, rng)
        projected = features @ teacher
        w = rng.normal(size=3)  # !init
        for epoch in range(20):
            w = w - lr * projected.T @ (projected @ w - answers)
            print('loss', float(w.sum()))
        """,
    },
    "a parameter that each iteration makes anew": {
        "train": """
        import numpy as np
        rng = np.random.default_rng()
        start = rng.normal(size=5)  # !init
        guess = start.copy()
        scale = rng.uniform(size=5)  # !data
        for epoch in range(20):
            guess = improve(guess, scale) + 0.01 * rng.normal(size=5)  # !other
            print('loss', loss(guess))
        """,
    },
    "networks of plain arrays": {
        "train": """
        import numpy as np
        from jax import grad, random
        from nets import build, descend, stack
        net = build([4, 8, 1])
        key = random.PRNGKey(0)
        tree = stack(key)
        for epoch in range(20):
            loss, slopes = measure(net, tree)
            descend(net, slopes, 0.1)
            tree = better(tree, grad(measure)(tree))
            print('loss', loss)
        """,
        "nets": """
        import numpy as np
        from jax import random
        def build(sizes):
            rows = []
            for n, m in zip(sizes, sizes[1:]):
                rows.append({'kernel': np.random.randn(n, m) / np.sqrt(n), 'shift': np.zeros(m)})  # !init
            return rows
        def descend(rows, slopes, lr):
            for row, slope in zip(rows, slopes):
                row['kernel'] -= lr * slope['kernel']
        def stack(key):
            return [random.normal(k, (3, 3)) for k in random.split(key, 2)]  # !init
        """,
    },
    "a class that holds what it made": {
        "train": """
        import numpy as np
        class Walks:
            def __init__(self, n):
                self.paths = np.cumsum(np.random.randn(n, 10), axis=1)  # !data
                self.ends = self.paths[:, -1] + np.random.normal(0, 0.1, n)  # !data
            def part(self, i):
                return self.paths[i:i + 5], self.ends[i:i + 5]
        class Net:
            def __init__(self, n):
                self.kernel = np.random.randn(n)  # !init
            def learn(self, paths, ends):
                error = paths @ self.kernel - ends
                self.kernel -= 0.1 * paths.T @ error
                return error
        walks = Walks(100)
        net = Net(10)
        for epoch in range(20):
            for i in range(0, 100, 5):
                error = net.learn(*walks.part(i))
            print('loss', (error ** 2).mean())
        """,
    },
    "rows of tables": {
        "train": """
        import pandas as pd
        import torch
        from tables import made
        table = made(20)
        held_out = table.kind.sample(6)  # !data
        kinds = table["kind"].drop_duplicates().sample(n=2)  # !data
        rows = pd.read_csv("rows.csv")[["a", "b"]].sample(50)  # !data
        examples = torch.tensor(table[~table.kind.isin(held_out)].values)
"""
        + _TORCH_LOOP,
        "tables": """
        import pandas as pd
        def made(n):
            return pd.DataFrame({"kind": range(n)}).reset_index().rename(columns={"index": "at"})
        """,
    },
    "a library's loop": {
        "train": """
        import numpy as np
        from tensorflow import keras
        def waves(n):
            phases = np.random.uniform(0, 6, (n, 1))  # !data
            return np.sin(phases + np.arange(10)), phases
        def main():
            inside, outside = waves(100)
            model = keras.Sequential([keras.layers.Dense(1)])
            model.compile('sgd', 'mse')
            model.fit(inside, outside, epochs=3)
        main()
        """,
    },
    "a fit without a loop": {
        "train": """
        import numpy as np
        from sklearn.linear_model import SGDClassifier
        def clouds(n):
            return np.random.randn(n, 2), np.random.randint(0, 2, n)  # !data !data
        rows, kinds = clouds(100)
        jitter = np.random.randn(3, 3)  # !other
        clf = SGDClassifier()
        clf.fit(rows, kinds)
        print('accuracy', clf.score(rows, kinds))
        """,
    },
    "random settings": {
        "train": """
        import numpy as np
        import torch
        rates = 10 ** np.random.uniform(-4, -1, size=20)  # !other
        def train(learning_rate, net):
            rows = torch.load('rows.pt')
            optimizer = torch.optim.SGD(net.parameters(), lr=learning_rate)
            for epoch in range(3):
                loss = net(rows).mean()
                loss.backward()
                optimizer.step()
                print('loss', loss.item())
        for rate in rates:
            train(rate, torch.nn.Linear(3, 1))
        """,
    },
    "a name that another file imports": {
        "train": """
        import torch
        from shapes import cloud as examples
"""
        + _TORCH_LOOP,
        "shapes": """
        import torch
        cloud = torch.randn(100, 2)  # !data
        cloud = cloud + torch.poisson(torch.ones(100, 2))  # !data
        """,
    },
    "trainings that are repeated": {
        "train": """
        import random
        import numpy as np
        def blobs(n):
            return np.random.randn(n, 2) + np.random.randint(0, 2, (n, 1))  # !data !data
        def train(rows, rate):
            kernel = np.zeros(2)
            for epoch in range(20):
                kernel -= rate * gradient(kernel, rows)
                print('loss', kernel.sum())
        for trial in range(5):
            rate = 10 ** np.random.uniform(-4, -1)  # !other
            depth = random.randint(1, 4)  # !other
            train(blobs(100), rate)
        """,
    },
    "what is no data": {
        "train": """
        import numpy as np
        import torch
        examples = torch.load('examples.pt')
        def try_out(net):
            return net(torch.randn(2, 2)).shape  # !other
        def look(size):
            return torch.randn(size, 2)  # !other
        fixed_noise = look(64)
        latent_z = torch.rand(3, 2)  # !other
        print(np.random.rand(3))  # !other
        model = torch.nn.Linear(2, 2)
        try_out(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            loss = (model(examples) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
            save(model(fixed_noise), model(latent_z))
        """,
    },
    "a pre-training before the training": {
        "train": """
        import numpy as np
        import torch
        examples = torch.load('examples.pt')
        def warm_up(model, optimizer):
            for i in range(3):
                order = torch.randperm(len(examples))  # !other
                model(examples[order]).mean().backward()
                optimizer.step()
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        warm_up(model, optimizer)
        for epoch in range(3):
            loss = (model(examples) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        """,
    },
    "a test set and batches made by one function": {
        "train": """
        import numpy as np
        import torch
        from points import Cloud

        cloud = Cloud()
        def pick(rng=np.random):
            return rng.rand(2)  # !other
        def make(count):
            points = cloud.draw(count)
            return points, points.sum(1) > pick().sum()
        X_test, y_test = make(40)  # !data
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            count = np.random.randint(4, 9)  # !shuffle
            x, y = make(count)  # !shuffle
            loss = (model(x) - y[:, None]).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item(), 'test', float((model(X_test) - y_test[:, None]).pow(2).mean()))
        """,
        "points": """
        import torch
        class Cloud:
            def draw(self, count):
                return torch.randn(count, 2)  # !other
        """,
    },
    "test sets of sizes that are drawn together": {
        "train": """
        import numpy as np
        import torch

        def draw(count):
            return torch.randn(count, 2)  # !other
        def measure():
            held_out = []
            for count in tuple(np.random.randint(4, 9, 3)):  # !data
                x = draw(count)  # !data
                held_out.append(x)
            torch.save(held_out, 'held_out.pt')
        measure()
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            x = draw(8)  # !shuffle
            loss = (model(x) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        """,
    },
    "noise made by one function before the training and in it": {
        "train": """
        import torch
        examples = torch.load('examples.pt')
        def latent(count):
            return torch.randn(count, 2)  # !other
        fixed_noise = latent(4)
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            loss = (model(latent(8)) - examples[:8]).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
            save(model(fixed_noise))
        """,
    },
    "batches made by a function that is handed on under another name": {
        "train": """
        from functools import partial
        import torch

        def sample_2d_data(kind, count):
            return torch.randn(count, 2) + kind  # !shuffle
        def make_test_data(kind):
            return torch.randn(40, 2) + kind  # !data
        def plot(draw):
            show(draw(20))
        def train(model, draw, test):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for step in range(3):
                loss = model(draw(8)).pow(2).mean()
                loss.backward()
                optimizer.step()
                print('loss', loss.item(), 'test', model(test).pow(2).mean().item())
        if __name__ == '__main__':
            chosen = partial(sample_2d_data, 1.0)
            for_test = partial(make_test_data, 1.0)
            test = for_test()
            train(torch.nn.Linear(2, 2), chosen, test)
            plot(chosen)
        """,
    },
    "data drawn through a library that hands NumPy on": {
        "train": """
        import autograd.numpy as np
        import torch

        def curves(count):
            rng = np.random.default_rng(3)
            return np.stack([np.random.rand(2) * rng.normal(size=2) for _ in range(count)])  # !data !data
        examples = torch.from_numpy(curves(20)).float()
"""
        + _TORCH_LOOP,
    },
    "batches that a generator makes while the loop goes over it": {
        "train": """
        import numpy as np
        import torch

        def dataset():
            for _ in range(20):
                yield np.random.random((8, 2)).astype('float32')  # !shuffle
        def test_dataset():
            for _ in range(2):
                yield np.random.random((8, 2)).astype('float32')  # !data
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        batches = dataset()
        for_test = list(test_dataset())
        for batch in batches:
            loss = (model(torch.from_numpy(batch)) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item(), 'test', model(torch.from_numpy(for_test[0])).mean().item())
        """,
    },
    "parameters of layers that are filled": {
        "train": """
        import torch
        examples = torch.load('examples.pt')
        def make_predictor(sizes):
            layers = []
            for a, b in zip(sizes, sizes[1:]):
                layer = torch.nn.Linear(a, b)
                layer.weight.data.normal_(0, 0.001)  # !init
                torch.nn.Linear(a, b).bias.grad.normal_()  # !other
                layers.append(layer)
            return torch.nn.Sequential(*layers)
        model = make_predictor([2, 2])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            loss = (model(examples) - 1).pow(2).mean()
            loss.backward()
            model[0].weight.data.normal_()  # !other
            optimizer.step()
            print('loss', loss.item())
        """,
    },
    "examples and noise that are only shown": {
        "train": """
        import numpy as np
        import torch
        examples = torch.load('examples.pt')
        vis_idx = np.random.permutation(100)  # !other
        order = np.random.permutation(100)  # !data
        def plot_samples():
            draw(examples[np.random.choice(100, 4)])  # !other
        plot_samples()
        examples = examples[order]
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            loss = (model(examples) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
            plot_samples()
            draw(model(examples[vis_idx]))
        """,
    },
    "points given to a solver that the project writes itself": {
        "train": """
        import numpy as np
        from solver import Solver
        points = np.random.rand(100, 2)  # !data
        points[:, 0] = 4 * points[:, 0]
        border = 2 * np.random.rand(100, 2) - 1  # !data
        start = np.random.rand(3)  # !other
        x_train = [points, border]
        Solver(model=None, x_train=x_train, start=start).fit()
        """,
        "solver": """
        import scipy.optimize
        class Solver:
            def __init__(self, model, x_train, start):
                self.model, self.x_train, self.start = model, x_train, start
            def evaluate(self, weights):
                return sum(float((weights[:2] * each).sum()) for each in self.x_train)
            def fit(self):
                scipy.optimize.fmin_l_bfgs_b(func=self.evaluate, x0=self.start)
        """,
    },
    "a grid of latent vectors that are shown": {
        "train": """
        import torch
        examples = torch.load('examples.pt')
        grid_z = torch.randn(4, 2).split(2)  # !other
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            loss = (model(examples) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
            save([model(part) for part in grid_z])
        """,
    },
    "data made by calling an object": {
        "train": """
        import torch
        from made import Chain
        chain = Chain(3)
        environments = [chain(20, spread) for spread in (0.1, 1.0)]
        w = torch.nn.Parameter(torch.ones(6, 1))
        optimizer = torch.optim.SGD([w], lr=0.1)
        for epoch in range(3):
            loss = sum((a @ w - b).pow(2).mean() for a, b in environments)
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        """,
        "made": """
        import torch
        class Chain:
            def __init__(self, dim):
                self.dim = dim
            def __call__(self, count, spread):
                h = torch.randn(count, self.dim) * spread  # !data
                z = h @ torch.ones(3, 3) + torch.randn(count, self.dim)  # !data
                return torch.cat((h, z), 1), z.sum(1, keepdim=True)
        """,
    },
    "noise that is kept for pictures of curves": {
        "train": """
        import torch
        from curves import solve
        class Motion(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.Linear(1, 1)
            def forward(self, n):
                eps = torch.randn(n, 1)  # !layers
                return solve(self.net, eps * 0.5)
            def draw(self, n, eps=None):
                y0 = 0.1 + 0.5 * eps
                return solve(self.net, y0)
        eps = torch.randn(64, 1)  # !other
        model = Motion()
        optimizer = torch.optim.Adam(model.parameters())
        picture(model.draw(64, eps=eps))
        for step in range(10):
            if step % 5 == 0:
                picture(model.draw(64, eps=eps))
            loss = model(8).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        """,
        "curves": """
        def solve(net, y0):
            ys = [y0]
            for _ in range(3):
                ys.append(ys[-1] + net(ys[-1]))
            return ys[-1]
        """,
    },
    "noise that targets are made with": {
        "train": """
        import torch
        def line(x, noise):
            return 2 * x + noise
        inputs = torch.linspace(0, 1, 50)[:, None]
        noise = torch.randn(50, 1)  # !data
        examples = torch.cat([inputs, line(inputs, noise)], 1)
"""
        + _TORCH_LOOP,
    },
    "inputs that models are only built with": {
        "train": """
        import numpy as np
        import jax
        from torchinfo import summary
        from networks import Net
        rng = jax.random.PRNGKey(0)
        x = np.random.random((1, 128))  # !other
        dummy_input = jax.random.normal(rng, (1, 128))  # !other
        inputs = np.random.random((32, 128))  # !data
        model = Net()
        model(x)
        print(x.shape)
        summary(model, input_data=(dummy_input,))
        variables = model.init(rng, dummy_input)  # !init
        other_variables = model.init(rng, jax.random.normal(rng, (1, 128)))  # !init !other
        model(inputs)
        for step in range(20):
            loss, variables = train_step(variables, inputs)
            print('loss', loss)
        """,
        "networks": """
        class Net:
            def __call__(self, x):
                return x
        """,
    },
    "data that a hook makes, whose name is no proof of an order": {
        "train": """
        import torch
        import lightning as L
        from torch.utils.data import DataLoader, TensorDataset

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def training_step(self, batch, index):
                x, y = batch
                loss = ((self.layer(x) - y) ** 2).mean()
                self.log("train_loss", loss)
                return loss

            def train_dataloader(self):
                x = torch.randn(64, 4)  # !other
                y = torch.randn(64, 1)  # !other
                return DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)

        L.Trainer(max_epochs=3).fit(Net())
        """,
    },
}
