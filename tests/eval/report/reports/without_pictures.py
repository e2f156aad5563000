"""Reports of text alone, for tests of what is not drawn."""

import contextlib
from collections.abc import Iterator
from unittest import mock

from matplotlib.figure import Figure

from eval.report import reports
from eval.report.reports import base
from robust_tfds.charts import svg

_OF_TASK = reports.task_reports


def written():
  """While it lasts, a task's reports are those that draw no picture."""
  return mock.patch.object(
    reports,
    "task_reports",
    lambda task: [r for r in _OF_TASK(task) if not isinstance(r, base.Chart)],
  )


@contextlib.contextmanager
def drawn() -> Iterator[None]:
  """While it lasts, figures are made and their files hold a few words."""
  save = lambda fig, file, **_: file.write(b"a picture")
  with (
    mock.patch.object(Figure, "savefig", save),
    mock.patch.object(svg, "text", return_value="a picture"),
  ):
    yield
