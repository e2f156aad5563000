"""Reports of text alone, for tests of what is not drawn."""

from unittest import mock

from eval.report import reports
from eval.report.reports import base

_OF_TASK = reports.of_task


def written():
  """While it lasts, a task's reports are those that draw no picture."""
  return mock.patch.object(
    reports,
    "of_task",
    lambda task: [r for r in _OF_TASK(task) if not isinstance(r, base.Chart)],
  )
