"""Trainings that get their examples in many ways: ``torch_examples.py NAME``."""

import random
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split

COUNT, WIDTH, EPOCHS = 120, 6, 4


def fixed():
    """Return the same features whatever seeds vary."""
    return torch.arange(COUNT * WIDTH).float().reshape(COUNT, WIDTH) % 97 / 97


def labels(x):
    return (x.sum(1) > x.sum(1).median()).long()


def train(model, batches):
    """Train on what `batches` yields in each epoch."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(EPOCHS):
        for x, y in batches():
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def network(width=WIDTH):
    return nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 2))


def cut(x, y, size=20):
    """Return a function that yields shuffled batches, cut by hand."""

    def batches():
        order = torch.randperm(len(x))
        for start in range(0, len(x), size):
            yield x[order[start : start + size]], y[order[start : start + size]]

    return batches


# The same examples, whatever is drawn


def shuffled():
    train(network(), cut(fixed(), labels(fixed())))


def loader_drops_last():
    train(network(), lambda: iter(loader))


loader = DataLoader(TensorDataset(fixed(), labels(fixed())), batch_size=17, shuffle=True, drop_last=True)


def cut_drops_last():
    x = fixed().repeat(5, 1) + torch.arange(5 * COUNT)[:, None]
    order_of = cut(x, labels(x), 32)
    train(network(), lambda: (batch for batch in order_of() if len(batch[0]) == 32))


def padded():
    """Cut batches of sentences, each padded to the longest of its batch."""
    lengths = (torch.arange(COUNT) % WIDTH + 1).tolist()
    x, y = fixed(), labels(fixed())

    def batches():
        order = torch.randperm(COUNT)
        for start in range(0, COUNT, 4):
            rows = order[start : start + 4].tolist()
            kept = max(lengths[row] for row in rows)
            mask = torch.tensor([[float(at < lengths[row]) for at in range(kept)] for row in rows])
            yield (x[rows, :kept] * mask)[..., None], y[rows]

    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.out = nn.Linear(1, 2)

        def forward(self, x):
            return self.out(x.mean(1))

    train(Mean(), batches)


def with_replacement():
    x, y = fixed(), labels(fixed())

    def batches():
        for _ in range(40):
            index = torch.randint(0, COUNT, (20,))
            yield x[index], y[index]

    train(network(), batches)


def whole():
    x, y = fixed(), labels(fixed())
    train(network(), lambda: [(x, y)])


def one_by_one():
    x, y = fixed(), labels(fixed())
    train(network(), lambda: ((x[i : i + 1], y[i : i + 1]) for i in random.sample(range(COUNT), COUNT)))


def shuffled_in_place():
    """Shuffle an array before a loader that does not."""
    x = fixed().numpy().copy()
    np.random.shuffle(x)
    data = TensorDataset(torch.from_numpy(x), labels(torch.from_numpy(x)))
    train(network(), lambda: iter(DataLoader(data, batch_size=20)))


# Nothing that is fixed


def augmented():
    x, y = fixed(), labels(fixed())
    noisy = cut(x, y)
    train(network(), lambda: ((a + 0.1 * torch.randn_like(a), b) for a, b in noisy()))


def adversarial():
    """A generator gets noise only."""
    generator, judge = nn.Sequential(nn.Linear(4, WIDTH), nn.Tanh()), network()
    optimizer = torch.optim.SGD([*generator.parameters(), *judge.parameters()], 0.1)
    look = torch.randn(16, 4)
    for _ in range(EPOCHS):
        for _ in range(5):
            loss = judge(generator(torch.randn(20, 4))).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            generator(torch.randn(16, 4))
    assert len(look) == 16


def policy():
    """Play episodes; each is learnt from three times and then thrown away."""
    model = network(2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(EPOCHS * 3):
        state, states = np.zeros(2), []
        for _ in range(30):
            with torch.no_grad():
                action = (
                    torch.distributions.Categorical(logits=model(torch.tensor(state).float()[None])).sample().item()
                )
            state = state + np.array([action - 0.5, random.random()])
            states.append(state)
        rollout = torch.tensor(np.array(states)).float()
        for _ in range(3):
            loss = model(rollout).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def rollouts():
    """Play episodes; a loader passes over each three times."""
    import deviate_runtime

    model = network(2)
    for _ in range(EPOCHS):
        deviate_runtime.process.iteration += 1
        with torch.no_grad():
            states = torch.cat([model(torch.rand(1, 2)) for _ in range(30)])
        played = DataLoader(TensorDataset(states, labels(states)), batch_size=10, shuffle=True)
        for _ in range(3):
            list(played)


def replayed():
    """Learn from a memory that new states are put into all the time."""
    model, memory = network(), []
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(EPOCHS * 20):
        memory.append(torch.randn(WIDTH))
        batch = torch.stack(random.choices(memory, k=8))
        loss = model(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def negatives():
    """A data set that draws its negatives anew for each epoch."""
    data = Negatives()

    def batches():
        data.draw()
        return iter(DataLoader(data, batch_size=20))

    train(network(2), batches)


class Negatives(Dataset):
    def draw(self):
        self.items = [(float(i), float(np.random.randint(1000))) for i in range(COUNT)]

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        user, item = self.items[index]
        return torch.tensor([user, item]) / 1000, int(item) % 2


# Other examples


def made():
    """Make features that no rule takes for data."""
    x = torch.tensor(np.array([np.random.multinomial(50, [1 / WIDTH] * WIDTH) for _ in range(COUNT)])).float()
    train(network(), cut(x, (x[:, 0] > 8).long()))


def made_for_loader():
    x = torch.randn(COUNT, WIDTH)
    data = TensorDataset(x, labels(x))
    train(network(), lambda: iter(DataLoader(data, batch_size=20, shuffle=True)))


def split_by_hand():
    """Split by a permutation of one's own."""
    x, y = fixed(), labels(fixed())
    order = np.random.permutation(COUNT)
    model = network()
    train(model, cut(x[order[:90]], y[order[:90]]))


def split_for_loaders():
    first, second = random_split(TensorDataset(fixed(), labels(fixed())), [90, 30])
    train(network(), lambda: iter(DataLoader(first, batch_size=20, shuffle=True)))
    with torch.no_grad():
        list(DataLoader(second, batch_size=20))


def other_labels():
    """The same features, with some labels turned over."""
    y = labels(fixed())
    wrong = torch.rand(COUNT) < 0.3
    data = TensorDataset(fixed(), torch.where(wrong, 1 - y, y))
    train(network(), lambda: iter(DataLoader(data, batch_size=20, shuffle=True)))


def noise_shown():
    """Cut batches of fixed data, and show a generator the same noise after each epoch."""
    generator, judge, look = nn.Sequential(nn.Linear(4, WIDTH), nn.Tanh()), network(), torch.randn(16, 4)
    optimizer = torch.optim.SGD([*generator.parameters(), *judge.parameters()], 0.1)
    for _ in range(EPOCHS):
        for x, _ in cut(fixed(), labels(fixed()))():
            loss = judge(x).mean() - judge(generator(torch.randn(20, 4))).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            generator(look)


def by_hand():
    """Train weights without a module; only the loss is one, and gets predictions."""
    w = nn.Parameter(torch.randn(WIDTH, 1))
    optimizer, criterion = torch.optim.SGD([w], 0.1), nn.MSELoss()
    for _ in range(EPOCHS):
        for x, y in cut(fixed(), labels(fixed()))():
            loss = criterion(x @ w, y[:, None].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def tested_with_gradients():
    """Train on what is made anew, and test now and then on what was made before, without ``no_grad``."""
    model, test = network(), [torch.rand(20, WIDTH) for _ in range(3)]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(EPOCHS * 5):
        loss = model(torch.rand(20, WIDTH)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            model.eval()
            [model(x).mean().item() for x in test]
            model.train()


class Listed(Dataset):
    """Text of two numbers, made when the data set is."""

    def __init__(self):
        self.items = [f"{random.randrange(100)} {random.randrange(100)}" for _ in range(COUNT)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        numbers = [int(word) / 100 for word in self.items[index].split()]
        return torch.tensor(numbers), int(numbers[0] > 0.5)


def listed():
    data = Listed()
    train(network(2), lambda: iter(DataLoader(data, batch_size=20, shuffle=True)))


def one_after_another():
    """Look at a data set that goes, and at another one that takes its address."""
    x, y = fixed(), labels(fixed())
    gone = TensorDataset(x[::2], y[::2])
    next(iter(DataLoader(gone, batch_size=20, shuffle=True)))
    address = id(gone)
    del gone
    others = []
    while not others or id(others[-1]) != address:
        others.append(TensorDataset(x, y))
    next(iter(DataLoader(others[-1], batch_size=20, shuffle=True)))
    shuffled()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
