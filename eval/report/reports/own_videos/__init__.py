"""Reports of metrics of one's own over videos: those over pictures."""

from eval.report.reports.own import REPORTS as REPORTS
