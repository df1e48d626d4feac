"""Number the names of metrics that are known at run time only."""

FIRST_ID = 1000000

#: A name that changes with every record (a step in it, say) is no metric's.
MOST_NAMES = 2000
LONGEST_NAME = 200


class Names:
    """Ids of the names this process met."""

    __slots__ = ("process", "ids", "statics", "made")

    def __init__(self, process):
        self.process = process
        self.ids = {}
        self.made = 0
        metrics = process.config["metrics"]
        #: Names that a framework reports and the analysis foresaw.
        self.statics = {m["name"]: number for number, m in enumerate(metrics) if m["how"] == "framework"}

    def forget(self):
        """Be as before the first name: a forked child writes its own events."""
        self.ids = {}
        self.made = 0

    def number(self, metric, name):
        """Return the id of `name`, None where there are too many; `metric` is the id it belongs to, or None."""
        name = name[:LONGEST_NAME]
        known = self.ids.get((metric, name))
        if known is not None:
            return known
        if metric is None and name in self.statics:
            return self.ids.setdefault((None, name), self.statics[name])
        if self.made >= MOST_NAMES:
            self.process.events.note(
                "too-many-names", "more than %d names; %r is left out" % (MOST_NAMES, name), metric
            )
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
        name = described["name"].replace("{%s}" % described["label"], str(label)[:LONGEST_NAME])
        number = self.number(metric, name)
        if type(label) is str and number is not None:
            self.ids[metric, label] = number
        return number
