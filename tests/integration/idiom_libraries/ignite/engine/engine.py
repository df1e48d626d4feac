"""An engine, as the library of this name has."""

from types import SimpleNamespace


class Events:
    EPOCH_STARTED = "epoch_started"
    EPOCH_COMPLETED = "epoch_completed"


class Engine:
    def __init__(self, process_function):
        self.process_function, self.handlers = process_function, []
        self.state = SimpleNamespace(epoch=0, output=None, metrics={})

    def on(self, event):
        def add(handler):
            self.handlers.append((event, handler))
            return handler

        return add

    def _fire_event(self, event):
        for wanted, handler in self.handlers:
            if wanted == event:
                handler(self)

    def run(self, data, max_epochs):
        self.state.max_epochs = max_epochs
        for self.state.epoch in range(1, max_epochs + 1):
            self._fire_event(Events.EPOCH_STARTED)
            for batch in data:
                self.state.output = self.process_function(self, batch)
            self._fire_event(Events.EPOCH_COMPLETED)
