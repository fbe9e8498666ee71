"""Reports of comparisons and of runs on streams: offline HTML pages, Markdown, LaTeX and CSV."""

from plurilabel._public import publish
from plurilabel.report._stream import write_stream_report
from plurilabel.report._tables import MeasureTable, measure_tables
from plurilabel.report._write import write_report

__all__ = ["MeasureTable", "measure_tables", "write_report", "write_stream_report"]

publish(globals())
