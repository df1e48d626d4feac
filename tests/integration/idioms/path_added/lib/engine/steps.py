from .shown import show


def train(model, x):
    loss = model.update(x)
    show('train loss', loss)


def test(model):
    gap = abs(model.weight - 3)
    show('test gap', gap)
