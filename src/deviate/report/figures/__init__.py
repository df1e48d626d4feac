"""Everything that a report shows as a picture, one kind a file."""

from deviate.report.figures.charts import THEMES as THEMES
from deviate.report.figures.charts import themed as themed
from deviate.report.figures.figure import Figure as Figure
