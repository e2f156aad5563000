"""Reports of the task `classification` alone."""

from robust_tfds.eval.report.reports.reliability import Reliability
from robust_tfds.eval.report.reports.severity_curves import SeverityCurves

REPORTS = {
  "reliability": Reliability(),
  "severity_curves": SeverityCurves(
    "severity_curves", "error", "top-1 error (%)", 5
  ),
}
