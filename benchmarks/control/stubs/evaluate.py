"""Stands in for the library of that name: the accuracy, without a download."""


class Accuracy:
    """The share of equal labels."""

    def compute(self, predictions, references):
        """Return the share of equal labels."""
        return {"accuracy": float((predictions == references).mean())}


def load(name):
    """Return the metric of that name; there is one."""
    assert name == "accuracy"
    return Accuracy()
