"""What decided how many runs were made, where that was a comparison with a stored experiment."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.experiment import Decided
from deviate.report.numbers import Numbers
from deviate.report.text.caveat import Caveat
from deviate.study.events import Compared


def compared_line(compared: Compared) -> str:
    """Say in a line how far a comparison is."""
    decided, (n, m) = compared.decided, compared.runs
    about = f"{decided.variant} against {decided.against}: {compared.metric}, {n} against {m} runs"
    if compared.hopeless:
        return f"{about}: no verdict however many runs, since {compared.hopeless}"
    p = f"p {Numbers(compared.limit).compared_p(compared.p)}"
    if compared.shown:
        better = {"a better": decided.variant, "b better": decided.against}.get(compared.verdict)
        what = f"{better} is better" if better else "they differ"
        return f"{about}, {p}: decided, {what}"
    open_ = f"{about}, {p}; below {compared.limit:.2g} decides at this look"
    return f"{open_}: not decided, and no more runs are allowed" if n >= decided.most else open_


def decided_caveats(decided: Decided | None, variant: str) -> Iterable[Caveat]:
    """Say what comparing after each round does to the numbers of a variant."""
    if decided is None or decided.variant != variant:
        return
    message = (
        f"Runs were added until a difference from {decided.against} was shown, or there were {decided.most}. `deviate "
        "compare` allows for that. The mean is likely to look a little farther from the other than it is, and its "
        "interval covers up to 2 points less than with a fixed number of runs."
    )
    yield Caveat(slug="stopped-by-comparison", message=message, severity="note", variant=variant)


def decided_method(decided: Decided | None) -> Iterable[str]:
    """Say for a paper what decided how many runs were made."""
    if decided is not None:
        yield (
            f"Runs of {decided.variant} were added round by round, from {decided.least} on, until a difference from "
            f"{decided.against} was shown, at most {decided.most}, with an alpha spending function like O'Brien and "
            "Fleming's (Lan and DeMets, 1983)."
        )
