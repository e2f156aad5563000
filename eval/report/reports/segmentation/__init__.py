"""Reports of the task `segmentation` alone."""

from eval.report.reports.severity_curves import SeverityCurves

REPORTS = {
  "severity_curves": SeverityCurves("severity_curves", "miou", "mIoU (%)", 5),
}
