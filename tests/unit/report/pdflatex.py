"""What pdflatex says to what the writers write."""

import shutil
import subprocess

import pytest


def needs_pdflatex(test):
    """Mark a test that compiles."""
    skip = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
    return pytest.mark.latex(skip(test))


def compile_paper(folder, *parts):
    """Compile parts of a paper, each on pages of its own, and return the size of the PDF in bytes."""
    body = "\n\\clearpage\n".join(parts)
    source = "\\documentclass[twocolumn]{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
    (folder / "paper.tex").write_text(f"{source}{body}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "paper.tex"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout.decode("utf-8", "replace")[-2000:]
    return (folder / "paper.pdf").stat().st_size
