"""Trainings that draw, each in its own way, and what their draws are."""

from __future__ import annotations

PROJECTS: dict[str, dict[str, str]] = {
    "a loop written with NumPy": {
        "train": """
        import numpy as np
        np.random.seed(1)
        X = np.random.randn(200, 2)  # !data
        noise_of_y = 0.1 * np.random.randn(200)  # !data
        y = (X[:, 0] > 0) + noise_of_y
        order = np.random.permutation(len(X))  # !data
        test, train = order[:50], order[50:]
        W1 = 0.1 * np.random.randn(2, 8)  # !init
        theta = np.random.uniform(-1, 1, size=8)  # !other
        for epoch in range(5):
            idx = np.random.permutation(len(train))  # !shuffle
            for i in range(0, len(idx), 10):
                x = X[train][idx[i:i + 10]]
                h = x @ W1
                mask = (np.random.rand(*h.shape) < keep_prob) / keep_prob  # !other
                W1 -= 0.1 * x.T @ ((h * mask) @ theta - y[train][idx[i:i + 10]])[:, None]
            print('loss', float(W1.sum()))
        """,
    },
    "a network written as a class": {
        "train": """
        import numpy as np
        from net import Net
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100, 3))  # !data
        y = X.sum(1)
        net = Net(3, rng)
        for epoch in range(3):
            for i in rng.permutation(len(X)):  # !shuffle
                loss = net.train_step(X[i], y[i])
            print('loss', loss)
        """,
        "net": """
        class Net:
            def __init__(self, width, rng):
                self.rng = rng
                self.w = rng.standard_normal(width)  # !init
            def forward(self, x, p=0.5):
                keep = self.rng.random(x.shape) > p  # !other
                return (x * keep) @ self.w
            def train_step(self, x, y):
                out = self.forward(x)
                self.w -= 0.1 * (out - y) * x
                return (out - y) ** 2
        """,
    },
    "layers written by hand": {
        "train": """
        import numpy as np
        from layers import Dense, Dropout
        layers = [Dense(), Dropout(), Dense()]
        for layer in layers:
            layer.initialize(4, 4)
        for epoch in range(3):
            out = np.ones((8, 4))
            for layer in layers:
                out = layer.forward_pass(out)
            print('loss', out.sum())
            for layer in reversed(layers):
                out = layer.backward_pass(out)
        """,
        "layers": """
        import numpy as np
        class Layer:
            def initialize(self, inputs, outputs):
                pass
        class Dense(Layer):
            def initialize(self, inputs, outputs):
                self.table = np.random.uniform(-1, 1, (inputs, outputs))  # !init
            def forward_pass(self, x):
                self.x = x
                return x @ self.table
            def backward_pass(self, grown):
                self.table -= 0.1 * self.x.T @ grown
                return grown
        class Dropout(Layer):
            def forward_pass(self, x):
                self.kept = np.random.uniform(size=x.shape) > 0.5  # !layers
                return x * self.kept
            def backward_pass(self, grown):
                return grown * self.kept
        """,
    },
    "lists of weights that a network learns by hand": {
        "train": """
        import numpy as np
        from net import Net
        net = Net([4, 8, 1])
        for epoch in range(3):
            net.learn(np.ones((8, 4)))
            print('loss', float(net.feedforward(np.ones(4)).sum()))
        """,
        "net": """
        import numpy as np
        class Net:
            def __init__(self, sizes):
                self.biases = [np.random.randn(size, 1) for size in sizes[1:]]  # !init
                self.tables = [np.random.randn(b, a) for a, b in zip(sizes, sizes[1:])]  # !init
            def feedforward(self, x):
                for bias, table in zip(self.biases, self.tables):
                    x = np.tanh(table @ x + bias)
                return x
            def learn(self, batch):
                steps = [self.backprop(x) for x in batch]
                self.tables = [table - 0.1 * step for table, step in zip(self.tables, steps)]
            def backprop(self, x):
                return self.feedforward(x)
        """,
    },
    "positions that a step picks its examples by": {
        "train": """
        import numpy as np
        from trainer import Trainer
        Trainer(*load('digits.npz')).run()
        """,
        "trainer": """
        import numpy as np
        class Trainer:
            def __init__(self, x_train, t_train):
                self.x_train, self.t_train = x_train, t_train
            def run(self):
                for step in range(100):
                    print('loss', self.train_step())
            def train_step(self):
                picked = np.random.choice(len(self.x_train), 10)  # !shuffle
                x = self.x_train[picked]
                rows = np.random.randint(0, len(x), 10)  # !other
                level = np.random.randint(0, 10, 10)  # !other
                return float((x + x[rows] * self.rates[level]).sum())
        """,
    },
    "a language model's batches": {
        "train": """
        import numpy as np
        import torch
        data = np.memmap('train.bin', dtype=np.uint16, mode='r')
        model = torch.nn.Linear(8, 8)
        optimizer = torch.optim.AdamW(model.parameters())
        def get_batch(split):
            ix = torch.randint(len(data) - block_size, (batch_size,))  # !shuffle
            x = torch.stack([torch.from_numpy(data[i:i + block_size]) for i in ix])
            return x, x
        X, Y = get_batch('train')
        iter_num = 0
        while True:
            loss = (model(X) - Y).mean()
            X, Y = get_batch('train')
            loss.backward()
            optimizer.step()
            print(f'iter {iter_num}: loss {loss.item():.4f}')
            iter_num += 1
            if iter_num > 10:
                break
        """,
    },
    "DCGAN": {
        "train": """
        import argparse, random
        import torch
        parser = argparse.ArgumentParser()
        opt = parser.parse_args()
        if opt.manualSeed is None:
            opt.manualSeed = random.randint(1, 10000)  # !seed
        random.seed(opt.manualSeed)
        torch.manual_seed(opt.manualSeed)

        def weights_init(m):
            if m.__class__.__name__.find('Conv') != -1:
                m.weight.data.normal_(0.0, 0.02)  # !init
                torch.nn.init.normal_(m.weight, 0, 1)

        netG = torch.nn.Linear(10, 10)
        netG.apply(weights_init)
        netD = torch.nn.Linear(10, 1)
        fixed_noise = torch.randn(64, 10, device='cpu')  # !other
        optimizerD = torch.optim.Adam(netD.parameters())
        for epoch in range(2):
            for i, (data, _) in enumerate(dataloader):
                noise = torch.randn(data.size(0), 10)  # !other
                fake = netG(noise)
                errD = netD(fake).mean()
                errD.backward()
                optimizerD.step()
                print('Loss_D: %.4f' % errD.item())
            save_image(netG(fixed_noise), 'samples.png')
        """,
    },
    "a data set that augments": {
        "train": """
        import torch
        from torch.utils.data import DataLoader, random_split
        from data import Digits, collate
        full = Digits(100)
        train_set, test_set = random_split(full, [80, 20], generator=torch.Generator().manual_seed(0))  # !data
        loader = DataLoader(train_set, shuffle=True, collate_fn=collate)
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(2):
            for x, y in loader:
                loss = (model(x) - y).mean()
                loss.backward()
                optimizer.step()
            print('loss', loss.item())
        """,
        "data": """
        import random
        import numpy as np
        import torch
        from torch.utils.data import Dataset

        class RandomShift:
            def __call__(self, image):
                return np.roll(image, np.random.randint(-1, 2))  # !augment

        class Digits(Dataset):
            def __init__(self, n):
                self.images = np.random.rand(n, 2)  # !data
                self.transform = RandomShift()
            def __len__(self):
                return len(self.images)
            def __getitem__(self, i):
                if random.random() < 0.5:  # !augment
                    i = random.randint(0, len(self) - 1)  # !augment
                return self.noisy(self.transform(self.images[i]))
            def noisy(self, image):
                return image + 0.1 * np.random.randn(*image.shape)  # !augment

        def collate(items):
            scale = random.uniform(0.9, 1.1)  # !augment
            return torch.tensor(items) * scale
        """,
    },
    "a sampler and a loader of one's own": {
        "train": """
        import numpy as np
        import torch
        from torch.utils.data import Sampler

        class BalancedSampler(Sampler):
            def __init__(self, labels, seed=0):
                self.labels = labels
                self.rng = np.random.RandomState(seed)
            def __iter__(self):
                return iter(self.rng.choice(len(self.labels), len(self.labels)))  # !shuffle

        class Batches:
            def __init__(self, n):
                self.order = np.random.permutation(n)  # !data
            def next_batch(self, k):
                self.order = np.random.permutation(len(self.order))  # !shuffle
                return self.order[:k]

        def iterate_minibatches(x, size):
            perm = torch.randperm(len(x))  # !shuffle
            for i in range(0, len(x), size):
                yield x[perm[i:i + size]]

        batches = Batches(10)
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = torch.utils.data.DataLoader(data, sampler=BalancedSampler(labels))
        for epoch in range(3):
            for x in iterate_minibatches(features, 4):
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
            batches.next_batch(2)
            print('loss', loss.item())
        """,
    },
    "a variational autoencoder": {
        "train": """
        import torch
        from torch import nn
        import torch.nn.functional as F

        class VAE(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(4, 4)
                self.scale = nn.Parameter(torch.randn(4))  # !init
                self.register_buffer('codes', torch.rand(4, 4))  # !init
            def sample(self, mu, std):
                return torch.distributions.Normal(mu, std).rsample()  # !layers
            def reparameterize(self, mu, std):
                eps = torch.randn_like(std)  # !layers
                return mu + eps * std
            def forward(self, x):
                x = F.dropout(self.fc(x), 0.1, self.training)  # !layers
                return self.reparameterize(x, x) + self.sample(x, x) + drop_path(x)

        def drop_path(x, p=0.1):
            return x * torch.rand(x.shape[0], 1).add_(1 - p).floor_()  # !layers

        model = VAE()
        optimizer = torch.optim.Adam(model.parameters())
        for epoch in range(2):
            for x in loader:
                loss = model(x).mean()
                loss.backward()
                optimizer.step()
            print('loss', loss.item())
            with torch.no_grad():
                z = torch.randn(64, 20)  # !other
                save(model.decode(z))
        """,
    },
    "a regression on data that are drawn as it goes": {
        "train": """
        import torch
        from itertools import count
        W_target = torch.randn(4, 1) * 5  # !data
        b_target = torch.randn(1) * 5  # !data
        def f(x):
            return x.mm(W_target) + b_target.item()
        def get_batch(batch_size=32):
            random = torch.randn(batch_size)  # !shuffle
            x = torch.cat([random.unsqueeze(1) ** i for i in range(1, 5)], 1)
            return x, f(x)
        fc = torch.nn.Linear(4, 1)
        for batch_idx in count(1):
            batch_x, batch_y = get_batch()
            fc.zero_grad()
            output = torch.nn.functional.smooth_l1_loss(fc(batch_x), batch_y)
            loss = output.item()
            output.backward()
            for param in fc.parameters():
                param.data.add_(-0.1 * param.grad)
            if loss < 1e-3:
                break
            print('Loss: {:.6f}'.format(loss))
        """,
    },
    "plain tensors as parameters": {
        "train": """
        import math, torch
        x = torch.linspace(-math.pi, math.pi, 2000)
        y = torch.sin(x)
        a = torch.randn((), requires_grad=True)  # !init
        b = torch.randn(())  # !init
        b.requires_grad_()
        c = torch.empty(3).normal_()  # !init
        optimizer = torch.optim.SGD([a, b, c], lr=1e-6)
        for t in range(20):
            loss = (a + b * x + c.sum() - y).pow(2).sum()
            loss.backward()
            optimizer.step()
            print(t, 'loss', loss.item())
        """,
    },
    "scikit-learn before the training": {
        "train": """
        from sklearn.datasets import make_classification
        from sklearn.model_selection import KFold, train_test_split
        from sklearn.utils import shuffle
        import torch
        X, y = make_classification(n_samples=200, random_state=0)  # !data
        X, y = shuffle(X, y)  # !data
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=42)  # !data
        folds = KFold(5, shuffle=True)  # !data
        plain = KFold(5)
        model = torch.nn.Linear(20, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            X_train, y_train = shuffle(X_train, y_train)  # !shuffle
            loss = model(X_train).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        """,
    },
    "reinforcement learning": {
        "train": """
        import random
        import gymnasium as gym
        import numpy as np
        import torch
        from stable_baselines3.common.buffers import ReplayBuffer

        class Agent(torch.nn.Module):
            def forward(self, x):
                return x
            def get_action(self, x):
                probs = torch.distributions.Categorical(logits=self(x))
                return probs.sample()  # !other

        class Memory:
            def sample(self, k):
                return random.sample(self.items, k)  # !shuffle

        env = gym.make('CartPole-v1')
        agent, memory = Agent(), Memory()
        rb = ReplayBuffer(1000, env.observation_space, env.action_space)
        optimizer = torch.optim.Adam(agent.parameters())
        b_inds = np.arange(512)
        for step in range(100):
            if random.random() < epsilon:  # !other
                action = env.action_space.sample()  # !other
            else:
                action = agent.get_action(obs)
            batch = rb.sample(32)  # !shuffle
            other = memory.sample(32)
            np.random.shuffle(b_inds)  # !shuffle
            loss = agent(batch).mean()
            loss.backward()
            optimizer.step()
            print('episodic_return', loss.item())
        """,
    },
    "mixing within a batch": {
        "train": """
        import numpy as np
        import torch
        from timm.data import Mixup
        mixup_fn = Mixup(mixup_alpha=0.8)
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def mixup_data(x, y, alpha):
            lam = np.random.beta(alpha, alpha)  # !augment
            index = torch.randperm(x.size(0))  # !augment
            return lam * x + (1 - lam) * x[index], y, y[index], lam

        for epoch in range(2):
            for x, y in loader:
                x, y = mixup_fn(x, y)  # !augment
                x, a, b, lam = mixup_data(x, y, 1.0)
                if np.random.rand() < 0.5:  # !other
                    x = torch.flip(x, [3])
                negatives = torch.randperm(x.size(0))  # !other
                loss = model(x).mean() + model(x[negatives]).mean()
                loss.backward()
                optimizer.step()
            print('loss', loss.item())
        """,
    },
    "adversarial noise": {
        "train": """
        import torch
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        def pgd(model, x):
            x_adv = (x + torch.empty_like(x).uniform_(-0.1, 0.1)).requires_grad_()  # !other
            for _ in range(3):
                x_adv = x_adv - 0.1 * torch.autograd.grad(model(x_adv).sum(), x_adv)[0]
            return x_adv
        for epoch in range(2):
            for x, y in loader:
                delta = torch.zeros_like(x).uniform_(-0.1, 0.1)  # !other
                delta.requires_grad = True
                loss = model(pgd(model, x) + delta).mean()
                loss.backward()
                optimizer.step()
            print('loss', loss.item())
        """,
    },
    "JAX": {
        "train": """
        import jax
        from jax import random as jr
        import jax.numpy as jnp

        def init_layer(key, n, m):
            w_key, b_key = jr.split(key)
            return jr.normal(w_key, (n, m)), jr.normal(b_key, (m,))  # !init !init

        def predict(params, x, key):
            keep = jr.bernoulli(key, 1 - DROP_RATE, x.shape)  # !other
            return (x * keep) @ params[0] + params[1]

        @jax.jit
        def step(params, x, key):
            loss, grads = jax.value_and_grad(lambda p: predict(p, x, key).mean())(params)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

        key = jr.PRNGKey(0)
        x = jr.normal(key, (100, 4))  # !data
        params = init_layer(key, 4, 1)
        for epoch in range(3):
            key, perm_key, drop_key = jr.split(key, 3)
            perm = jr.permutation(perm_key, len(x))  # !shuffle
            params, loss = step(params, x[perm], drop_key)
            print('loss', loss)
        """,
    },
    "Flax": {
        "train": """
        import flax.linen as nn
        import jax, optax

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                noise = jax.random.normal(self.make_rng('noise'), x.shape)  # !layers
                return nn.Dense(1)(x + noise)

        model = Net()
        key = jax.random.key(0)
        variables = model.init(key, batch)  # !init
        tx = optax.adam(1e-3)
        state = tx.init(variables)
        for epoch in range(3):
            key, drop_key = jax.random.split(key)
            loss, grads = jax.value_and_grad(
                lambda v: model.apply(v, batch, rngs={'dropout': drop_key}).mean()  # !layers
            )(variables)
            updates, state = tx.update(grads, state)
            variables = optax.apply_updates(variables, updates)
            print('loss', loss)
        """,
    },
    "Lightning": {
        "train": """
        import lightning as L
        import torch

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.table = torch.nn.Parameter(torch.rand(4, 4))  # !init
            def forward(self, x):
                return x + torch.randn_like(x)  # !layers
            def training_step(self, batch, i):
                t = torch.randint(0, 1000, (len(batch),))  # !other
                loss = self(batch).mean() + t.sum()
                self.log('train_loss', loss)
                return loss

        class Data(L.LightningDataModule):
            def setup(self, stage=None):
                self.train, self.val = torch.utils.data.random_split(everything, [80, 20])  # !data

        trainer = L.Trainer(max_epochs=2)
        trainer.fit(Net(), Data())
        """,
    },
    "Keras": {
        "train": """
        import keras
        import numpy as np
        import tensorflow as tf
        x = np.random.random((100, 4))  # !data
        y = np.random.randint(0, 2, (100,))  # !data

        class Sampling(keras.layers.Layer):
            def call(self, inputs):
                return inputs + tf.random.normal(tf.shape(inputs))  # !layers

        model = keras.Sequential([Sampling(), keras.layers.Dense(1)])
        model.compile(loss='mse')
        model.fit(x, y, epochs=2)
        """,
    },
    "names imported in other ways": {
        "train": """
        from random import shuffle as mix, random
        from torch import randperm
        from numpy import random as npr
        import numpy.random
        import torch as th
        model = th.nn.Linear(2, 1)
        optimizer = th.optim.SGD(model.parameters(), lr=0.1)
        files = ['a', 'b']
        mix(files)  # !data
        split = npr.permutation(10)  # !data
        for epoch in range(3):
            mix(files)  # !shuffle
            for name in files:
                x = load(name)[randperm(10)]  # !other
                p = numpy.random.rand()  # !other
                loss = model(x).mean() * p * random()  # !other
                loss.backward()
                optimizer.step()
            print('loss', loss.item())
        """,
    },
    "generators that are handed on": {
        "train": """
        import random
        import numpy as np
        from work import Trainer, make_data, batches

        class Config:
            rng = np.random.default_rng(3)

        cfg = Config()
        train = make_data(random.Random(0))
        trainer = Trainer(np.random.RandomState(1))
        w = cfg.rng.normal(size=3)  # !init
        for epoch in range(3):
            for x in batches(train, rng=cfg.rng):
                w -= 0.1 * w
            trainer.run(train)
            print('loss', w.sum())
        """,
        "work": """
        def make_data(r):
            return [r.gauss(0, 1) for _ in range(100)]  # !data

        def batches(items, rng):
            order = rng.permutation(len(items))  # !shuffle
            return [items[i] for i in order]

        class Trainer:
            def __init__(self, state):
                self.state = state
            def run(self, items):
                for i in self.state.permutation(len(items)):  # !shuffle
                    items[i]
        """,
    },
    "a recurrent network of plain arrays": {
        "train": """
        import numpy as np
        data = open('input.txt').read()
        Wxh = np.random.randn(100, 65) * 0.01  # !init
        bh = np.zeros((100, 1))
        params = {'Why': np.random.randn(65, 100) * 0.01, 'bh': bh}  # !init
        def sample(h, seed_ix, n):
            return [np.random.choice(range(65), p=softmax(h)) for _ in range(n)]  # !other
        X = np.random.rand(10, 3)  # !data
        X -= X.mean(0)
        n = 0
        while n < 100:
            loss, dWxh, grads = step(data[n:n + 25], Wxh, params)
            if n % 10 == 0:
                sample(bh, 0, 200)
                print('loss', loss)
            Wxh += -0.1 * dWxh / np.sqrt(1e-8)
            for k in params:
                params[k] -= learning_rate * grads[k]
            n += 1
        """,
    },
    "data made as it goes": {
        "train": """
        import numpy as np
        import torch
        def make_data(n):
            while True:
                x = np.random.uniform(-1, 1, (n, 1))  # !shuffle
                yield x, x ** 2
        def toy_points(n):
            return np.random.normal(size=(n, 2))  # !other
        def test_points():
            return np.random.normal(size=(9, 2))  # !other
        def make_dataset(n):
            return np.random.normal(size=(n, 2))  # !data
        held_out = make_dataset(100)
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step, (x, y) in enumerate(make_data(32)):
            more = toy_points(3)
            loss = (model(x) - y).mean() + model(more).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        print('test loss', model(test_points()).mean())
        """,
    },
    "noisy and masked layers": {
        "train": """
        import torch
        from torch import nn
        class NoisyLinear(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.weight_mu = nn.Parameter(torch.empty(n))
                self.register_buffer('weight_epsilon', torch.empty(n))
                self.reset_parameters()
            def reset_parameters(self):
                self.weight_mu.data.uniform_(-1, 1)  # !init
            def reset_noise(self):
                self.weight_epsilon.normal_()  # !other
            def forward(self, x):
                return x * (self.weight_mu + self.weight_epsilon)
        class Masked(nn.Module):
            def __init__(self, encoder):
                super().__init__()
                self.encoder = encoder
                for m in self.modules():
                    if isinstance(m, nn.Conv2d):
                        m.weight.data.normal_(0, 0.1)  # !init
            def mask(self, x):
                return x * (torch.rand(x.shape) > 0.75)  # !layers
            def forward(self, x):
                return self.encoder(self.mask(x))
        model = Masked(NoisyLinear(3))
        print(model(torch.randn(2, 3)).shape)  # !other
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(3):
            loss = model(batch).mean()
            loss.backward()
            optimizer.step()
            model.encoder.reset_noise()
            print('loss', loss.item())
        """,
    },
    "a classifier of names": {
        "train": """
        import random
        import torch
        def randomChoice(l):
            return l[random.randint(0, len(l) - 1)]  # !shuffle
        def randomTrainingExample():
            category = randomChoice(all_categories)
            return category, randomChoice(category_lines[category])
        class MyCollator:
            def __call__(self, items):
                return random.choices(items, k=3)  # !augment
        rnn = torch.nn.RNN(3, 3)
        for iter in range(1, 100):
            category, line = randomTrainingExample()
            loss = rnn(line).mean()
            loss.backward()
            for p in rnn.parameters():
                p.data.add_(p.grad.data, alpha=-0.1)
            print('%d loss %.4f' % (iter, loss.item()))
            MyCollator()([line])
        """,
    },
    "points of a physics-informed network": {
        "train": """
        import torch
        model = torch.nn.Linear(1, 1)
        optimizer = torch.optim.Adam(model.parameters())
        x_fixed = torch.rand(100, 1)  # !data
        for it in range(100):
            x_f = torch.rand(100, 1)  # !other
            noise = torch.randn(100, 1)  # !other
            loss = model(x_f).mean() + model(x_fixed + noise).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        """,
    },
    "linear regression from scratch": {
        "train": """
        import random
        import torch
        def synthetic_data(w, b, n):
            X = torch.normal(0, 1, (n, len(w)))  # !data
            y = torch.matmul(X, w) + b
            y += torch.normal(0, 0.01, y.shape)  # !data
            return X, y
        def data_iter(batch_size, features, labels):
            indices = list(range(len(features)))
            random.shuffle(indices)  # !shuffle
            for i in range(0, len(features), batch_size):
                yield features[indices[i:i + batch_size]], labels[indices[i:i + batch_size]]
        features, labels = synthetic_data(torch.tensor([2, -3.4]), 4.2, 1000)
        w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)  # !init
        a = torch.randn(1)  # !init
        for epoch in range(3):
            for X, y in data_iter(10, features, labels):
                loss = (X @ w + a - y).pow(2).mean()
                loss.backward()
                with torch.no_grad():
                    w -= lr * w.grad
                    a -= lr * grad_a
            print(f'epoch {epoch}, loss {loss.item():f}')
        """,
    },
    "chunks of a text, by functions that say so": {
        "train": """
        import random
        import torch
        from text import text, tensor_of
        def random_chunk(length):
            start = random.randint(0, len(text) - length)  # !shuffle
            return text[start:start + length + 1]
        def randomTrainingExample():
            line = random.choice(text.splitlines())  # !shuffle
            return tensor_of(line[:-1]), tensor_of(line[1:])
        model = torch.nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(20):
            chunk = tensor_of(random_chunk(20))
            before, after = randomTrainingExample()
            loss = (model(chunk) - 1).pow(2).mean() + (model(before) - after).pow(2).mean()
            loss.backward()
            optimizer.step()
            print('loss', loss.item())
        """,
        "text": """
        text = open('text.txt').read()
        def tensor_of(text):
            return text
        """,
    },
    "a part of an order of examples that are handed down": {
        "train": """
        import numpy as np
        import torch
        from graphs import load
        def train(model, optimizer, train_graphs):
            for step in range(4):
                chosen = np.random.permutation(len(train_graphs))[:8]  # !shuffle
                batch = [train_graphs[i] for i in chosen]
                mixed = mix(batch)
                loss = model(torch.stack(mixed)).mean()
                loss.backward()
                optimizer.step()
            return loss
        def mix(batch):
            return [batch[i] for i in np.random.permutation(len(batch))]  # !other
        def main():
            graphs = load()
            model = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for epoch in range(2):
                print('loss', train(model, optimizer, graphs).item())
        main()
        """,
        "graphs": """
        def load():
            return open('graphs.txt').read()
        """,
    },
}
