"""Reports as offline pages: comparisons, runs on streams, doubtful labels."""

from plurilabel._public import publish
from plurilabel.report._issues import write_issues_report
from plurilabel.report._stream import write_stream_report
from plurilabel.report._tables import MeasureTable, measure_tables
from plurilabel.report._write import write_report

__all__ = [
    "MeasureTable",
    "measure_tables",
    "write_issues_report",
    "write_report",
    "write_stream_report",
]

publish(globals())
