"""An engine that runs the loop and calls handlers."""

# expect loss = loss (\S+)
# expect gap = gap (\S+)

import random

from ignite.engine import Engine, Events

rng = random.Random(0)
weight = 0.0


def step(engine, batch):
    global weight
    gradient = 2 * batch * batch * (weight - 3)
    weight -= 0.1 * gradient
    engine.state.metrics['gap'] = abs(weight - 3)
    return (weight - 3) ** 2


trainer = Engine(step)


@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    print(f'epoch {engine.state.epoch} loss {engine.state.output:.6f}')


@trainer.on(Events.EPOCH_COMPLETED)
def report_gap(engine):
    metrics = engine.state.metrics
    print(f"epoch {engine.state.epoch} gap {metrics['gap']:.6f}")


trainer.run([rng.gauss(0, 1) for _ in range(2)], max_epochs=3)
