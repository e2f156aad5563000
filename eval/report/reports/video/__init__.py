"""Reports of the task `video` alone."""

from eval.report.reports.reliability import Reliability
from eval.report.reports.severity_curves import SeverityCurves

CURVES = SeverityCurves("action_curves", "accuracy", "accuracy (%)", 6, top=102)
REPORTS = {"curves": CURVES, "reliability": Reliability()}
