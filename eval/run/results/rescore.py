"""Scores existing predictions: the table and reports from cells alone.

Needs no accelerator, model or data. Predictions of other programs become the
cells of a workdir first; from there on a run and a file are the same. The table
of a finished run comes out byte for byte the same.
"""

import dataclasses
from collections.abc import Sequence

from etils import epath

from eval import readers
from eval.cells import names, provenance, table
from eval.cells.files import scored_folder
from eval.cells.workdir import Workdir
from eval.readers import base as readers_base
from eval.report import reports
from eval.run.results import benchmark_checks, publish, reference_run
from eval.tables import detection_tables
from robust_tfds.storage import disk


def score(
  paths: Sequence[epath.Path],
  out: epath.Path,
  options: readers_base.Options,
  form: str = readers.AUTO,
) -> str:
  """Write the table and the reports, of files also their cells.

  Args:
    paths: files of one format, or workdirs.
    out: folder; what an earlier score wrote there is replaced.
    options: what else is said of the files.
    form: name of the format; `auto` looks at the paths.

  Returns:
    The summary, for the screen.

  Raises:
    UserError: predictions or a folder that cannot be used, said in words;
      nothing is written then.
    OSError: a file that is not there, or a disk that is full.
  """
  reader = readers.choose(paths, form, options)
  sources = [*paths, *([options.facts] if options.facts else [])]
  with scored_folder.replacing(out, sources) as folder:
    predictions = _read(reader, paths, options)
    if not reader.stored:
      predictions = _store(predictions, Workdir(folder))
    rows, texts = _publish(predictions, Workdir(folder))
    if reader.has_paper_tables:
      texts.append(detection_tables.write(rows, folder))
  return "\n".join(texts)


def _read(
  reader: readers_base.Reader,
  paths: Sequence[epath.Path],
  options: readers_base.Options,
) -> readers_base.Run:
  """Return the cells to score; files are first checked against the options."""
  listed = ", ".join(map(str, paths))
  if options.facts and "facts" in reader.options:
    options, run = reference_run.named(options)
    predictions = reader.read(paths, options)
    return reference_run.joined(predictions, run, options, listed)
  predictions = reader.read(paths, options)
  if reader.stored:
    return predictions
  return benchmark_checks.checked(predictions, options, listed)


def _store(predictions: readers_base.Run, workdir: Workdir) -> readers_base.Run:
  """Return the same predictions as a workdir's."""
  data = predictions.cells[
    0
  ].data  # facts of the reference run, if there is one
  workdir.claim(predictions.config, data.pixels if data else None)
  if predictions.truth is not None:
    workdir.write_truth(predictions.truth)
  for cell in predictions.cells:
    workdir.write_cell(cell, predictions.columns(cell))
  return dataclasses.replace(
    predictions, columns=workdir.columns, truth=workdir.truth()
  )


def _publish(
  predictions: readers_base.Run, workdir: Workdir
) -> tuple[list[table.Row], list[str]]:
  """Write the table and all reports; return their summaries."""
  datasets = predictions.datasets
  rows: list[table.Row] = []
  texts = []
  for dataset in datasets:
    context, of_dataset = _context(predictions, dataset)
    rows += of_dataset
    folder = workdir.reports
    if len(datasets) > 1:
      folder = folder / names.folder_name(dataset)
    with disk.writing(folder):
      reports.write_all(context, folder)
    texts.append((folder / "summary.txt").read_text("utf-8"))
  table.write(rows, workdir.table_path)
  return rows, texts


def _context(
  predictions: readers_base.Run, dataset: str
) -> tuple[reports.Context, list[table.Row]]:
  """Score one data set's cells: return what reports read, and the table."""
  task, scored = predictions.score(dataset)
  context = publish.context(
    task,
    scored,
    predictions.model_names,
    class_names=predictions.class_names,
    provenance=[f"robust_tfds {provenance.code_version()}", *predictions.notes],
  )
  return context, scored.rows
