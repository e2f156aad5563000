"""Drops of models on natural sets, from runs made here."""

import contextlib
import csv
import io
import pathlib
import types
from unittest import mock

import numpy as np
from absl import flags
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.building.sources import imagenet
from robust_tfds.eval.cells.number import Number
from robust_tfds.eval.compare import __main__ as command
from robust_tfds.eval.compare import natural
from tests import tiny_files
from tests.own import made, natural_test

_LABELS = [41, 41, 3, 3] * 3


def _model(answers_right: float, seed: int):
  """Right on a share of the pictures, by their pixels."""

  def model(images):
    logits = np.zeros((len(images), 1000))
    rows = np.arange(len(images))
    mean = images.reshape(len(images), -1).sum(axis=1) * (7 + 2 * seed)
    logits[rows, np.where(mean % 100 < 100 * answers_right, 41, 3)] = 1
    return logits

  return model


class NaturalTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _runs(self, count, **options):
    """`count` models on both sides, in workdirs a and held."""
    natural_test.prepare("imagenet_a", self.folder, _LABELS)
    for i in range(10):
      picture = tiny_files.encoded(tiny_files.noise(60, 70, 90 + i), "JPEG")
      wnid = imagenet.wnids()[(41, 3, 8)[i % 3]]
      name = f"val/{wnid}/ILSVRC2012_val_0000000{i}.JPEG"
      tiny_files.put(self.folder, {name: picture})
    models = {
      f"m{i}": _model(share, i)
      for i, share in enumerate((0.5, 0.3, 0.7)[:count])
    }
    for dataset, workdir in (
      ("imagenet_a", "a"),
      ("imagenet_a/reference", "r"),
    ):
      made.evaluate(
        models,
        dataset,
        conditions=None,
        data_dir=self.folder,
        manual_dir=self.folder,
        workdir=self.folder / workdir,
        **(options if workdir == "r" else {}),
      )

  def _compare(self):
    out = self.folder / "out"
    settings = types.SimpleNamespace(
      out=str(out), reference=str(self.folder / "r")
    )
    with (
      mock.patch.object(flags, "FLAGS", settings),
      contextlib.redirect_stdout(io.StringIO()) as said,
    ):
      command.main(["", str(self.folder / "a")])
    with (out / "natural.csv").open() as file:
      return list(csv.DictReader(file)), said.getvalue()

  def test_the_drop(self):
    self._runs(2)
    rows, said = self._compare()
    self.assertLen(rows, 2)
    for row in rows:
      value = {k: float(v) for k, v in list(row.items())[3:12]}
      difference = value["reference"] - value["accuracy"]
      self.assertAlmostEqual(value["drop"], difference)
      self.assertBetween(difference, value["drop_lo"], value["drop_hi"])
      self.assertIn("2 of at least 3 models", row["note"])
    self.assertIn("| imagenet\\_a | m0 | clean\\_error |", said)

  def test_other_facts_are_refused(self):
    self._runs(1, size=64)
    with self.assertRaisesRegex(errors.UserError, "geometry is short73_crop64"):
      self._compare()

  def test_covers(self):
    """Of equal and other rates, at 95 %, less what 2,000 draws leave open."""
    rng = np.random.default_rng(0)
    for a, b, n, m in ((0.8, 0.5, 60, 40), (0.95, 0.9, 100, 200)):
      hits = 0
      for x, y in zip(rng.binomial(n, a, 2000), rng.binomial(m, b, 2000)):
        ends = natural.drop(_rate(x, n), _rate(y, m)).interval
        hits += ends[0] <= a - b <= ends[1]
      self.assertGreater(hits / 2000, 0.94)


def _rate(hits: int, count: int) -> Number:
  from robust_tfds.eval.metrics import intervals

  ((value, lo, hi),) = intervals.rates([hits], count)
  return Number(value, lo, hi)
