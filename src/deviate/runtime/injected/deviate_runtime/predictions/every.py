"""The labels of every evaluation pass of a point: asked for by ``labels:every`` and ``scores:every``."""

from .columns import crc_of


class Every:
    """Passes on the same examples, in one order, that wait to be written.

    The first pass has `target`, `label` and what identifies the examples; each later one the differences of its labels
    from those of the pass before, which are mostly 0. Passes on other examples are left out.
    """

    def __init__(self):
        self.examples = None
        self.labels = None
        self.classes = None
        self.waiting = []

    def add(self, numpy, header, columns):
        """Add a pass; `header` and `columns` are those of the whole pass."""
        name = next((name for name in ("index", "digest") if name in columns), None)
        order = slice(None) if name is None else numpy.argsort(columns[name], kind="stable")
        kept = {each: columns[each][order] for each in ("target", "label", name) if each is not None}
        target, labels, classes = kept["target"], kept["label"].astype(numpy.int64), header["classes"]
        called = target.astype(numpy.int64) if classes is None else numpy.array(classes)[target]
        examples = (name, len(labels), crc_of(called), 0 if name is None else crc_of(kept[name]))
        if self.examples not in (None, examples):
            return
        if self.examples is not None:
            # Numbers of classes stand for other names where the names are others.
            is_difference = self.classes == classes
            kept = {"label": labels - self.labels if is_difference else labels}
            header = {each: header[each] for each in ("number", "iteration", "classes")}
            header["difference"] = is_difference
        self.examples, self.labels, self.classes = examples, labels, classes
        self.waiting.append((header, kept))
