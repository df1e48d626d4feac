"""The compiler of PyTorch: it passes over what stands around the program's own functions, as over torch's own files."""

RUNTIME = __name__.partition(".")[0]


def attend(rules, streams):
    """Have ``torch.compile`` skip the files of this package and compile what they call."""
    rules.add(RUNTIME)
