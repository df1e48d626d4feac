"""Number the names of metrics that are known at run time only."""

import re

FIRST_ID = 1000000

#: A name that changes with every record (a step in it, say) is no metric's.
MAX_NAMES = 2000
MAX_NAME_LENGTH = 200

#: Put before the keys under which a framework's training loop reports.
PREFIX = "fit:"


class Names:
    """Ids of the names this process met."""

    __slots__ = ("process", "ids", "statics", "patterns", "sourced", "made")

    def __init__(self, process):
        self.process = process
        self.ids = {}
        self.made = 0
        metrics = process.config["metrics"]
        reported = [(m["name"], number) for number, m in enumerate(metrics) if m["how"] == "framework"]
        #: Names that a framework reports and the analysis foresaw, whole or in part (``fit:{stage}_loss``).
        self.statics = {name: number for name, number in reported if "{" not in name}
        partly = sorted((pair for pair in reported if "{" in pair[0]), key=lambda pair: -len(pair[0]))
        self.patterns = [(pattern_of(name), number) for name, number in partly]
        #: Names that a framework reports of what the source yields as well.
        self.sourced = {m["key"] for m in metrics if m.get("key")}

    def forget(self):
        """Be as before the first name: a forked child writes its own events."""
        self.ids = {}
        self.made = 0

    def number(self, metric, name):
        """Return the id of `name`, None where there are too many; `metric` is the id it belongs to, or None."""
        name = name[:MAX_NAME_LENGTH]
        known = self.ids.get((metric, name))
        if known is not None:
            return known
        if metric is None:
            if name in self.statics:
                return self.ids.setdefault((None, name), self.statics[name])
            owner = next((number for pattern, number in self.patterns if pattern.match(name)), None)
            if owner is not None:
                bare = name[len(PREFIX) :] if name.startswith(PREFIX) else name
                return self.ids.setdefault((None, name), self.number(owner, bare))
        if self.made >= MAX_NAMES:
            self.process.events.note("too-many-names", "more than %d names; %r is left out" % (MAX_NAMES, name), metric)
            return None
        self.made += 1
        number = self.ids[metric, name] = FIRST_ID + self.made - 1
        self.process.events.write({"event": "name", "id": number, "metric": metric, "name": name})
        return number

    def fill(self, metric, label):
        """Return the id of a metric whose name has a placeholder for `label`."""
        known = self.ids.get((metric, label)) if type(label) is str else None
        if known is not None:
            return known
        described = self.process.config["metrics"][metric]
        name = described["name"].replace("{%s}" % described["label"], str(label)[:MAX_NAME_LENGTH])
        number = self.number(metric, name)
        if type(label) is str and number is not None:
            self.ids[metric, label] = number
        return number


def pattern_of(name):
    """Return what matches `name` with any text for each part in braces."""
    parts = re.split(r"\{[^{}]*\}", name)
    return re.compile("(.+)".join(map(re.escape, parts)) + "$")
