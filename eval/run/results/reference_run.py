"""Predictions of another program, scored with the facts of a run: `--facts=RUN`.

The facts of the data are the run's then, so that boards and pairs set both side by
side. Conditions, ids and labels are held against the run's. That the other program
saw the run's pictures no table tells: the cells say that it made them
(`cell_facts.stated`), and boards, pairs and `--check` say that the rest is a
statement.
"""

import dataclasses

import ml_collections

from eval.cells import cell_facts
from eval.cells.cell import Cell
from eval.cells.cell_facts import ModelFacts
from eval.cells.files import config_file
from eval.compare.pairs import pairing
from eval.readers import base
from eval.readers.workdir import WorkdirReader
from eval.tasks.headlines import baselines
from robust_tfds import conditions, errors

_OF_THE_RUN = ("seed", "subset")  # known to the run alone
_KIND = "classification"
# Codecs that lose nothing are one.
_LOSSLESS = dict.fromkeys(("", "raw", "png"), "lossless")


def named(options: base.Options) -> tuple[base.Options, base.Run]:
  """Return the run of `--facts`, and the options with its facts of the data.

  Raises:
    UserError: no run of classifications, several data sets of which none is
      named, or what is said of the data beside it.
  """
  assert options.facts is not None
  where = f"--facts={options.facts}"
  run = WorkdirReader().read([options.facts], base.Options())
  if run.task_name != _KIND:
    raise errors.UserError(
      f"{where}: a run of {run.task_name}, expected one of {_KIND}."
    )
  for name in _OF_THE_RUN:
    if getattr(options, name) is not None:
      raise errors.UserError(f"{where} says the {name}: leave out --{name}.")
  if options.dataset not in run.datasets:
    if options.dataset is not None or len(run.datasets) > 1:
      got = options.dataset or "none"
      raise errors.unknown_error(f"--dataset of {where}", got, run.datasets)
  baseline, of_run = options.baseline, str(run.config.get("baseline", ""))
  if baseline is None:  # a model of the run normalises where the run is, too
    baseline = "" if baselines.model_label(of_run) else of_run
  options = dataclasses.replace(
    options,
    dataset=options.dataset or run.datasets[0],
    seed=run.cells[0].seed,
    baseline=baseline,
  )
  return options, run


def joined(
  predictions: base.Run, run: base.Run, options: base.Options, source: str
) -> base.Run:
  """Return the same predictions with the facts of the run's data.

  Args:
    predictions: predictions from a reader of files.
    run: see `named`.
    source: the files, for refusals.

  Raises:
    UserError: a model of a label of the run's; other facts than the table says of
      itself; a condition that the run does not
      have, or whose facts it does not say; other examples or labels.
  """
  dataset = predictions.datasets[0]
  twice = set(predictions.labels()) & set(run.labels())
  if twice:
    raise errors.UserError(
      f"{source}: --facts={options.facts} has a model {min(twice)!r}, too. Give"
      " this one another label: the file's name, or a column 'model'."
    )
  theirs = {c.condition: c for c in reversed(run.cells_of(dataset))}
  columns_by_cell, facts = {}, ModelFacts(adapter=cell_facts.ELSEWHERE)
  for cell in predictions.cells:
    other = theirs.get(cell.condition)
    if other is None or other.data is None:
      lacks = "no such cell" if other is None else "no facts of its data"
      raise errors.UserError(
        f"{source}: {cell.condition.config}: --facts={options.facts} has {lacks}."
        " Leave the condition out, or name a RUN that was made over it."
      )
    _check_stated(predictions, other, source)
    columns = _join_groups(cell, predictions, run.columns(other), source)
    cell = dataclasses.replace(cell, data=other.data, model_facts=facts)
    columns_by_cell[cell] = columns
  return dataclasses.replace(
    predictions,
    config=_config(predictions, run, dataset),
    cells=list(columns_by_cell),
    columns=columns_by_cell.__getitem__,
    notes=[
      *predictions.notes,
      f"facts of the data: those of {options.facts}",
      *cell_facts.elsewhere_notes(
        (m, facts.words()) for m in predictions.labels()
      ),
    ],
  )


def _check_stated(predictions: base.Run, run_cell: Cell, source: str) -> None:
  """Refuse a table whose columns state different pictures."""
  draws = conditions.draws_in_words(run_cell.dataset, run_cell.seed)
  for fact, values in predictions.stated.items():
    run_value = str(getattr(run_cell.data, fact, None) or "")
    run_value = draws if fact == "draws" else run_value
    wrong = [
      v
      for v in values
      if _LOSSLESS.get(v, v) != _LOSSLESS.get(run_value, run_value)
    ]
    if wrong:
      raise errors.UserError(
        f"{source}: {fact} is {wrong[0]!r}, and {run_value!r} in the run of --facts:"
        " its models saw other pixels. Leave --facts out, or name a RUN of the same"
        " (of corrupt_folder: geometry=none, and --name and --seed the run's)."
      )


def _join_groups(
  cell: Cell, predictions: base.Run, run_columns: base.Columns, source: str
) -> dict:
  """Return a cell's columns, in the groups of the run's."""
  columns = predictions.columns(cell)
  ours = {n: columns[n] for n in ("example_id", "frame", "label")}
  with errors.prefixed(f"{source} beside --facts (the first)"):
    pairing.check_columns(cell.condition, run_columns, ours)
  return {**columns, "group_id": run_columns["group_id"]}


def _config(
  predictions: base.Run, run: base.Run, dataset: str
) -> ml_collections.ConfigDict:
  """Return the settings of the predictions over the run's `data` settings."""
  config = predictions.config.to_dict()
  data = {**run.settings(dataset).data.to_dict(), **config["data"]}
  mark = config_file.mark(config_file.plain(run.config))
  return ml_collections.ConfigDict(
    {**config, "data": data, config_file.REFERENCE_KEY: mark}
  )
