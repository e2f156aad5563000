"""Reports of custom metrics over videos: those over pictures."""

from eval.report.reports.own import REPORTS as REPORTS
