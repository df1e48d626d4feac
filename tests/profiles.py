"""How many examples property tests try: ``pytest --hypothesis-profile quick``, ``usual`` (the default) or ``nightly``.

A test that is cheap or dear says how many it tries usually: ``@examples(100)``; the other profiles try in proportion.
"""

from hypothesis import settings

USUALLY = 30
PROFILES = {"quick": 6, "usual": USUALLY, "nightly": 1000}


def register() -> None:
    """Make the profiles known; none has a deadline, since a busy machine is not a bug."""
    for name, number in PROFILES.items():
        settings.register_profile(name, deadline=None, max_examples=number)
    settings.load_profile("usual")


def examples(number: int) -> settings:
    """Return the settings of a test that tries `number` examples usually."""
    return settings(max_examples=max(1, number * settings().max_examples // USUALLY))
