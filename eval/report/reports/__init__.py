"""Reports of a run, one file each: figures and texts from the rows of its table.

  every_task/                  reports of every task: leaderboards, summary, ...
  classification/, video/, ... further reports of a task

`eval/tables/context.py` is what a report may read.

The folders are the registry: a file in one of them holds one subclass of
`base.Report`, and a new report is a new file. A report of a kind that exists is a
row of the folder's `REPORTS`.
"""

import importlib
import pathlib
import pkgutil

from etils import epath

from eval.report.pages import run_page
from eval.report.reports import base
from eval.tables.context import Context
from robust_tfds import registry

_EVERY_TASK = "every_task"


def task_reports(task: str) -> list[base.Report]:
  """Return the reports of every task, then those of this one, by name."""
  return [
    report
    for folder in (_EVERY_TASK, task)
    for _, report in sorted(_folder_reports(folder).items())
  ]


def _folder_reports(folder: str) -> dict[str, base.Report]:
  """Return name -> report of a folder's `REPORTS` and its files."""
  root = pathlib.Path(__file__).parent / folder
  if not root.is_dir():
    return {}
  package = f"{__name__}.{folder}"
  rows = getattr(importlib.import_module(package), "REPORTS", {})
  return dict(rows) | {
    module.name: registry.only_class(f"{package}.{module.name}", base.Report)()
    for module in pkgutil.iter_modules([str(root)])
  }


def write_all(context: Context, folder: epath.Path) -> list[epath.Path]:
  """Write every report of the context's task into a folder, the page last.

  Returns:
    The files.
  """
  folder.mkdir(parents=True, exist_ok=True)
  all_reports = task_reports(context.task)
  paths = [p for report in all_reports for p in report.write(context, folder)]
  return [*paths, *run_page.write(context, all_reports, folder)]
