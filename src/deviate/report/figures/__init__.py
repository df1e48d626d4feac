"""Everything that a report shows as a picture, one kind a file."""

from deviate.report.figures.figure import Figure as Figure
from deviate.report.figures.themes import THEMES as THEMES
from deviate.report.figures.themes import themed as themed
