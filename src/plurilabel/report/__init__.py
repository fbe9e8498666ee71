"""The report of a comparison: one offline HTML page, Markdown, LaTeX and CSV."""

from plurilabel._public import publish
from plurilabel.report._tables import MeasureTable, measure_tables
from plurilabel.report._write import write_report

__all__ = ["MeasureTable", "measure_tables", "write_report"]

publish(globals())
