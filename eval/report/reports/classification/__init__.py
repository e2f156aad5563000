"""Reports of the task `classification` alone."""

from eval.report.reports.reliability import Reliability
from eval.report.reports.severity_curves import SeverityCurves

REPORTS = {
  "reliability": Reliability(),
  "severity_curves": SeverityCurves(
    "severity_curves", "error", "top-1 error (%)", 5
  ),
}
