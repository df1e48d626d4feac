"""The Engine of PyTorch-Ignite: the start of epochs. What handlers report stands in the source."""

from .observe import before


def attend(module, observer):
    """Observe the start of epochs."""

    def fired(engine, event, *args, **kwargs):
        if str(getattr(event, "value", event)) == "epoch_started" and trains(engine):
            observer.tick()

    before(observer, getattr(module, "Engine", None), "_fire_event", fired)


def trains(engine):
    """Tell an engine that trains from one that evaluates, which goes through its data once."""
    most = getattr(engine.state, "max_epochs", None)
    return most is None or most > 1
