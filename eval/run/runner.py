"""Runs a plan: data, models, cells, table, reports. Continues where it stopped."""

import collections
import contextlib
import dataclasses
import functools
import pathlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from etils import epath

from eval.cells import table
from eval.cells.cell import Cell
from eval.cells.files import lock
from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.run import data as data_lib
from eval.run import own_metrics, targets
from eval.run.execution import cells as cells_lib
from eval.run.execution import fingerprints, one_pass, run_cache, timing
from eval.run.execution import visits as visits_lib
from eval.run.execution.contents import Contents
from eval.run.execution.progress import Progress, say
from eval.run.model import load as load_lib
from eval.run.model import own_models
from eval.run.plan import Plan
from eval.run.results import publish
from robust_tfds import (
  cores,
  devices,
  errors,
  hosts,
  missing,
  stopping,
  strings,
)
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import frost_pictures
from robust_tfds.shards import WHOLE, Shard
from robust_tfds.storage import disk


class Runner:
  """One run of one plan in one workdir."""

  def __init__(
    self,
    plan: Plan,
    workdir: pathlib.Path,
    *,
    break_lock: bool = False,
    shard: Shard = WHOLE,
    report: bool = True,
  ):
    """Prepare devices; write nothing yet.

    Args:
      plan: what is to be done.
      break_lock: take the place of a run that was killed, in a bucket.
      shard: which of the cells are made.
      report: write the reports, where the config says so; else `report` does.
    """
    self.plan, self.workdir = plan, Workdir(workdir)
    self._break_lock = break_lock
    self._shard, self._chosen = shard, shard.share(plan.cells)
    streams = [k for k, a in plan.adapts.items() if a.is_sequential]
    if streams and shard.count > 1:
      raise errors.UserError(
        f"--shard={shard}: {streams[0]} goes through its conditions one after the"
        " other, expected one process. Leave --shard out, or make a run a model."
      )
    self._reports = report
    self._outcome: publish.Outcome | None = None
    self.mesh = devices.mesh()
    devices.check_batch_size(plan.config.batch_size, self.mesh)
    self.host = hosts.this_host()
    self.stages, self._began = timing.Stages(), time.perf_counter()
    self.data = data_lib.Data(plan, self.workdir, self.host, self.stages)

  def run(self) -> list[table.Row]:
    """Run everything; return the table's rows on the first host.

    A shard returns none, and writes no table.

    Raises:
      UserError: bad data, models or outputs, a damaged workdir, or one in which
        another run writes; finished cells stay.
      disk.DiskError: something could not be written; finished cells stay.
    """
    self._check_all_is_here()
    self._say(devices.description())
    with self._nothing_of_missing(), self._locked():
      self._claim()
      loaded, truth, cells = self._prepare()
      self._renew(cells)
      fingerprints.check_finished(self.workdir, cells)
      outcome = publish.Outcome(self.plan, self.workdir, self.data, truth)
      self._outcome = outcome
      self._make(cells, loaded, outcome)
      rows: list[table.Row] = []
      if self.host.index == 0:
        rows = self._publish(cells, outcome)
      hosts.barrier(self.host, "end")
    return rows

  def _check_all_is_here(self) -> None:
    """Refuse a run that lacks data or weights, before anything is written."""
    lacks = list(self.plan.lacks)
    if self.host.index == 0:
      lacks += data_lib.lacks(self.plan, self.workdir)
    if lacks:
      raise missing.MissingError(*lacks)

  @contextlib.contextmanager
  def _nothing_of_missing(self) -> Iterator[None]:
    """Remove a new workdir again if a download failed."""
    path = self.workdir.path
    new = not disk.exists(path) and self._shard.count == 1
    try:
      yield
    except missing.MissingError:
      if new and self.host.index == 0:
        path.rmtree(missing_ok=True)
      raise

  def _publish(
    self, cells: Sequence[Cell], outcome: publish.Outcome
  ) -> list[table.Row]:
    """Write the table and the reports; a shard leaves them to `score`."""
    if self._shard.count > 1:
      self._say(
        f"shard {self._shard} is finished. When all are, this makes the table:"
        " robust-tfds score --predictions=WORKDIR --predictions=WORKDIR ..."
        " --out=DIR"
      )
      return []
    if self._reports and self.plan.config.reports:
      self._say("all cells are there; writing the table and the report")
    rows = outcome.publish(cells, self.stages)
    took = self.stages.summary({})
    computing = devices.description().partition(",")[0]
    total_s = time.perf_counter() - self._began
    for line in timing.lines(took, total_s, computing, cores.usable()):
      self._say(line)
    if self._reports:
      outcome.report(self.workdir.reports)
    return rows

  def report(self, folder: epath.Path) -> None:
    """Write the reports of a finished run.

    Raises:
      UserError: the run was not finished here, or makes no reports.
    """
    if self._outcome is None:
      raise errors.UserError("Only a finished run has reports: run it first.")
    self._outcome.report(folder)

  def _say(self, text: str) -> None:
    """Print a line, on the first host."""
    if self.host.index == 0:
      say(text)

  @contextlib.contextmanager
  def _locked(self) -> Iterator[None]:
    """Hold the workdir's lock; the first host does it for all."""
    nonce = ""
    with contextlib.ExitStack() as stack:
      if self.host.index == 0:
        self.workdir.check_layout()
        self.workdir.check(self.plan.config.written)
        held = lock.held(self.workdir.path, breaking=self._break_lock)
        mine = stack.enter_context(held)
        nonce = mine.nonce
        stack.enter_context(stopping.when_stopped(mine.release))
      nonce = hosts.text_of_first_host(self.host, nonce)
      self.workdir = dataclasses.replace(self.workdir, writer=nonce)
      yield

  def _claim(self) -> None:
    """Claim the workdir for this run and compare its cells with each other."""
    if self.host.index == 0:
      self.workdir.claim(self.plan.config.written)
      for label in self.plan.models:  # what a killed run was writing
        disk.remove_temporary(self.workdir.model_folder(label))
      self.workdir.check_cells()
    hosts.barrier(self.host, "workdir")

  def _prepare(self) -> tuple[dict, dict[str, Any] | None, list[Cell]]:
    """Prepare data, models and the ground truth."""
    if where := run_cache.keep():
      self._say(where)
    data = self.plan.config.data
    frost_pictures.choose(data.frost_dir, data.manual_dir)
    if self.plan.left_out_note:
      self._say(self.plan.left_out_note)
    if self._shard.count > 1:
      self._say(
        f"shard {self._shard}: {len(self._chosen)} of {len(self.plan.cells)}"
        " cells"
      )
    clean = self.data.clean
    self._say_how_many(clean)
    self._check_targets(clean)
    loaded = {}
    for label in dict.fromkeys(label for label, _ in self._chosen):
      loaded[label] = load_lib.load(
        self.plan, label, clean, self.workdir, self.mesh, self.host
      )
      model = loaded[label]
      for note in [*self.plan.notes(label), *model.kind.notes, *model.notes]:
        self._say(f"{label}: {note}")
    truth = hosts.first_host_first(self.host, "truth", self._truth)
    cells = self._cells(loaded, self._chosen)
    if self.host.index == 0:
      own = {label: model.own for label, model in loaded.items() if model.own}
      own_models.continue_or_claim(self.workdir, own, cells)
    return loaded, truth, cells

  def _check_targets(self, clean: inputs.Source) -> None:
    """Refuse targets of a custom metric that do not belong to the set."""
    own = self.plan.config.own_metrics
    if own:
      examples = clean.metadata((clean.pixels,))
      ids = [strings.text(e["example_id"]) for e in examples]
      targets.check(own.targets, ids, clean.builder)

  def _renew(self, cells: list[Cell]) -> None:
    """Measure cells again if their custom metric changed, on the first host."""
    if self.host.index == 0:
      for line in own_metrics.renew(self.workdir, cells, self.plan.task):
        self._say(line)
    hosts.barrier(self.host, "metric")

  def _say_how_many(self, clean: inputs.Source) -> None:
    """Print the size of the user's own set, or the used part of a published one."""
    if clean.builder.OWN:
      self._say(clean.builder.OWN.words)
    for line in (*self.plan.crop_lines, *self.plan.task.pixel_words):
      self._say(line)
    builder, split = clean.builder, clean.split
    if builder.published_examples(split) not in (0, clean.total):
      counted = builder.counted(clean.total, split)
      self._say(f"{builder.info.full_name}: {counted} examples.")

  def _cells(
    self,
    loaded: Mapping[str, load_lib.LoadedModel],
    chosen: Sequence[tuple[str, Condition]],
  ) -> list[Cell]:
    """Return the run's cells, with everything that they depend on."""
    contents = Contents(self.workdir.contents_path)
    cells = fingerprints.cells(self.plan, self.data, loaded, contents, chosen)
    for text in self.data.made_otherwise:
      self._say(text)
    if self.host.index == 0:
      contents.save()
    return cells

  def _truth(self) -> dict[str, Any] | None:
    """Return the ground truth; the first host makes it."""
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
    loaded: Mapping[str, load_lib.LoadedModel],
    outcome: publish.Outcome,
  ) -> None:
    """Make all unfinished cells; add every finished one to the outcome.

    Finished ones are read first: damage is said before hours of work.
    """
    done = {c for c in cells if self.workdir.done(c)}
    if self.host.index == 0:
      for cell in cells:
        if cell in done:
          outcome.add(cell, self.workdir.columns(cell))
    lacking = [cell for cell in cells if cell not in done]
    left: collections.Counter[str] = collections.Counter()
    for cell in lacking:
      left[cell.condition.config] += self._images(cell)
    with Progress(
      len(cells), len(done), left, quiet=self.host.index > 0
    ) as progress:
      setup = one_pass.Setup(
        self.plan.task,
        loaded,
        self.mesh,
        self.host,
        self.stages,
        progress,
        self.plan.config.data.block_mib << 20,
        outcome.shown_ids,
        outcome.note,
      )
      with cells_lib.CellMaker(setup, self.workdir, outcome.add) as maker:
        describe_kept = functools.partial(
          self._kept_in_words, cells, done, maker
        )
        with (
          stopping.when_stopped(describe_kept),
          stopping.when_stopped(progress.close),
        ):
          adapts = self.plan.adapts
          visits = visits_lib.plan(cells, adapts, self.data.source)
          whole = visits_lib.Maker(self.workdir, setup, maker, visits)
          whole.run(adapts, done)

  def _kept_in_words(
    self, cells: Sequence[Cell], done: set[Cell], maker: cells_lib.CellMaker
  ) -> str:
    """Return a text about the finished work, which a stopped run keeps."""
    shares: dict[Condition, list[float]] = {}
    for cell in cells:
      share = 1.0 if cell in done else maker.kept_share(cell)
      shares.setdefault(cell.condition, []).append(share)
    whole = [min(each) == 1 for each in shares.values()]
    kind = self.plan.task.set_kind
    noun = kind if kind in ("frames", "videos") else "pictures"
    work = np.mean([share for each in shares.values() for share in each])
    more = f", {work:.0%} of the work" if work > np.mean(whole) + 0.01 else ""
    return (
      f"{sum(whole)} of {len(whole)} conditions of {self.data.clean.total:,}"
      f" {noun} kept{more}"
    )

  def _images(self, cell: Cell) -> int:
    """Return how many images this host shows to the cell's model."""
    each = self.plan.task.images_per_example(cell.condition)
    return each * self.data.source(cell.condition).share
