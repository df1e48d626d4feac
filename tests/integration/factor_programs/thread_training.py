"""A training whose batches are loaded and augmented in threads: one that runs ahead, or a pool's.

What it draws for is told at each draw, as an instrumented copy tells it.
"""

import builtins
import hashlib
import queue
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import nn

draw = getattr(builtins, "__dv_draw__", lambda site, function: function)
NONE, SHUFFLE, AUGMENT, DATA = range(4)

seeding, threads = sys.argv[1:]
if seeding == "everything":
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
shared = np.random.default_rng(3)
x = torch.linspace(-1, 1, 512).reshape(64, 8) + 0.1 * draw(DATA, torch.randn)(64, 8)
y = (x.sum(1) > 0).long()


def load(i):
    own = np.random.default_rng(int(i) if seeding == "everything" else None)
    row = x[i] + 0.1 * draw(AUGMENT, torch.randn)(8) + torch.empty(8).copy_(draw(AUGMENT, torch.zeros(8).normal_)())
    row = row * float(draw(AUGMENT, np.random.uniform)(0.9, 1.1)) + 0.1 * float(draw(AUGMENT, own.normal)())
    if draw(AUGMENT, random.random)() < 0.5:
        row = row.flip(0) * draw(AUGMENT, random.gauss)(1, 0.1)
    return row + 0.1 * float(draw(NONE, shared.normal)())


def load_ahead(order, loaded):
    for i in order:
        loaded.put((load(i), y[i]))
    loaded.put(None)


def examples_ahead(order):
    """Yield examples that another thread loads meanwhile."""
    loaded = queue.Queue(3)
    thread = threading.Thread(target=load_ahead, args=(order, loaded))
    thread.start()
    yield from iter(loaded.get, None)
    thread.join()


def examples_of_pool(order):
    """Yield examples that the threads of a pool load."""
    with ThreadPoolExecutor(4) as pool:
        yield from zip(pool.map(load, order), y[order], strict=True)


model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(2):
    order = draw(SHUFFLE, np.random.permutation)(64)
    for row, label in (examples_ahead if threads == "one" else examples_of_pool)(order):
        loss = nn.functional.cross_entropy(model(row[None]), label[None]) + 0.01 * draw(NONE, random.random)()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print("threads", threading.active_count())
print("sha", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
