r"""Lines that put the figures of the main metric into a paper, as comments: ready to be cut out and used."""

from __future__ import annotations

from collections.abc import Iterable

from deviate.report.curves import Curves
from deviate.report.escape import clean, encodable
from deviate.report.latex_text import latex
from deviate.report.order import first_asked
from deviate.report.parts import Document

#: Folder that the lines name; that of the examples of ``--figures``.
FOLDER = "figures"


def figure_lines(document: Document, curves: Curves | None = None) -> list[str]:
    r"""Return a commented ``figure`` with its caption for each figure of the main metric; nothing without one.

    Parameters
    ----------
    document : Document
        Its figures have the names of the files that ``--figures`` writes.
    curves : Curves, optional
        Without, there is no figure of learning curves.
    """
    reported = [
        metric for variant in document.variants for metric in variant.metrics if metric.n and metric.kind != "speed"
    ]
    if not reported:
        return []
    # Takes some time to load, which no other format needs.
    from deviate.report.figures import document_figures

    main = first_asked(reported).name
    shown = [figure for figure in document_figures(document, curves) if figure.metric == main]
    lines = [line for figure in shown for line in _figure(figure.slug, figure.description)]
    command = f"deviate report {encodable(clean(document.experiment))} --figures {FOLDER}"
    return ["", f"% Figures, as {command} writes them; they need \\usepackage{{graphicx}}.", *lines] if lines else []


def _figure(slug: str, description: str) -> Iterable[str]:
    yield r"% \begin{figure}[tbp]"
    yield r"%   \centering"
    yield rf"%   \includegraphics[width=\columnwidth]{{{FOLDER}/{slug}.pdf}}"
    yield rf"%   \caption{{{latex(description)}}}"
    yield rf"%   \label{{fig:{slug}}}"
    yield r"% \end{figure}"
