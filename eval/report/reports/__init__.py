"""Reports: one file each, every one a pivot of the table.

  every_task/                  what every task has: leaderboards, summary, ...
  classification/, video/, ... what one task has besides; the folder says which

What a report may read is `tables/context.py`.

The folders are the registry: a file in one of them holds one subclass of
`base.Report`, and a new report is a new file. A report of a kind that is there is a
row of the folder's `REPORTS`. A task without a folder of its own
has the reports of `every_task/`.
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


def of_task(task: str) -> list[base.Report]:
  """The reports of a task: those of every task, then its own, by name."""
  return [
    report
    for folder in (_EVERY_TASK, task)
    for _, report in sorted(_of_folder(folder).items())
  ]


def _of_folder(folder: str) -> dict[str, base.Report]:
  """Name -> report: the folder's rows `REPORTS`, and its files."""
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
  """Writes every report of the context's task into `folder`, the page last.

  Returns:
    The files.
  """
  folder.mkdir(parents=True, exist_ok=True)
  all_reports = of_task(context.task)
  paths = [p for report in all_reports for p in report.write(context, folder)]
  return [*paths, *run_page.write(context, all_reports, folder)]
