"""Runs a plan: data, models, cells, table, reports. Continues where it stopped."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from robust_tfds.corruptions import frost_pictures
from robust_tfds.eval.pipeline import devices
from robust_tfds.eval.results import table
from robust_tfds.eval.results.cell import Cell
from robust_tfds.eval.results.workdir import Workdir
from robust_tfds.eval.run import cells as cells_lib
from robust_tfds.eval.run import data as data_lib
from robust_tfds.eval.run import fingerprints
from robust_tfds.eval.run import hosts
from robust_tfds.eval.run import models as models_lib
from robust_tfds.eval.run import own_models
from robust_tfds.eval.run import publish
from robust_tfds.eval.run import timing
from robust_tfds.eval.run.contents import Contents
from robust_tfds.eval.run.plan import Plan
from robust_tfds.eval.run.progress import Progress


class Runner:
  """One run of one plan in one workdir."""

  def __init__(self, plan: Plan, workdir: pathlib.Path):
    """Prepares devices; writes nothing yet."""
    self.plan, self.workdir = plan, Workdir(workdir)
    self.mesh = devices.mesh()
    devices.check_batch_size(plan.config.batch_size, self.mesh)
    self.host = hosts.this_host()
    self.stages = timing.Stages()
    self.data = data_lib.Data(plan, self.workdir, self.host, self.stages)

  def run(self) -> list[table.Row]:
    """Everything; returns the table's rows.

    Raises:
      UserError: bad data, models or outputs, said in words; finished cells
        stay.
      predictions.DiskFullError: no space left; finished cells stay.
    """
    if self.host.index == 0:
      self.workdir.claim(self.plan.config)
      self.workdir.discard_unfinished()
    hosts.barrier(self.host, "workdir")
    if self.plan.config.data.get("frost_dir"):
      frost_pictures.use_folder(self.plan.config.data.frost_dir)
    clean = self.data.clean
    loaded = {
      label: models_lib.load(
        self.plan, label, clean, self.workdir, self.mesh, self.host
      )
      for label in self.plan.models
    }
    truth = hosts.on_first_host(self.host, "truth", self._truth)
    cells = self._cells(loaded)
    if self.host.index == 0:
      own = {label: model.own for label, model in loaded.items() if model.own}
      own_models.continue_or_claim(self.workdir, own, cells)
    fingerprints.check_finished(self.workdir, cells)
    self._make(cells, loaded, truth)
    scored = self.plan.task.score(
      ((cell, self.workdir.columns(cell)) for cell in cells), truth
    )
    if self.host.index == 0:
      publish.publish(self.plan, self.workdir, self.data, self.stages, scored)
    hosts.barrier(self.host, "end")
    return scored.rows

  def _cells(self, loaded: Mapping[str, models_lib.LoadedModel]) -> list[Cell]:
    """All cells of the run, with what they depend on."""
    contents = Contents(self.workdir.contents_path)
    cells = fingerprints.cells(self.plan, self.data, loaded, contents)
    if self.host.index == 0:
      contents.save()
    return cells

  def _truth(self) -> dict[str, Any] | None:
    """The ground truth, made by the first host and kept in the workdir."""
    truth = self.workdir.truth()
    if truth is None and self.host.index == 0:
      truth = self.plan.task.truth(self.data.clean)
      if truth is not None:
        self.workdir.write_truth(truth)
        truth = self.workdir.truth()
    return truth

  def _make(
    self,
    cells: list[Cell],
    loaded: Mapping[str, models_lib.LoadedModel],
    truth: Mapping[str, Any] | None,
  ) -> None:
    """All cells that are not finished, condition after condition."""
    unfinished = [c for c in cells if not self.workdir.done(c)]
    progress = Progress(
      len(cells), len(cells) - len(unfinished), quiet=self.host.index > 0
    )
    maker = cells_lib.CellMaker(
      self.plan.task,
      loaded,
      self.workdir,
      self.mesh,
      self.host,
      self.stages,
      progress,
      truth,
    )
    for condition in self.plan.conditions:
      of_condition = [c for c in unfinished if c.condition == condition]
      if of_condition:
        maker.run(of_condition, self.data.of(condition))
