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

from eval.cells.number import Number
from eval.compare import __main__ as command
from eval.compare import natural
from robust_tfds import errors
from robust_tfds.building.sources import imagenet
from tests import tiny_files
from tests.own import made, natural_test

# Phi(0.8) - Phi(0.5 / sqrt(1 + 0.4^2)), of the normal distribution.
_TRUE_DROP = 0.78814 - 0.67877
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

  def _runs(self, count, name="imagenet_a", labels=_LABELS, **options):
    """`count` models on both sides, in workdirs a and r; of ReaL the same pictures."""
    natural_test.prepare(name, self.folder, labels)
    for i in range(10):
      width, seed, label = 70, 90 + i, (41, 3, 8)[i % 3]
      if i and name.endswith("_real"):  # as `natural_test.prepare` makes them
        width, seed, label = 49 + i, i - 1, labels[i - 1][0]
      picture = tiny_files.encoded(tiny_files.noise(60, width, seed), "JPEG")
      wnid = imagenet.wnids()[label]
      path = f"val/{wnid}/ILSVRC2012_val_0000000{i}.JPEG"
      tiny_files.put(self.folder, {path: picture})
    models = {
      f"m{i}": _model(share, i)
      for i, share in enumerate((0.5, 0.3, 0.7)[:count])
    }
    for dataset, workdir in ((name, "a"), (f"{name}/reference", "r")):
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
      out=str(out), reference=str(self.folder / "r"), splits=False
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

  def test_the_same_pictures_are_paired(self):
    self._runs(1, "imagenet2012_real", [[label, 7] for label in _LABELS])
    (row,), _ = self._compare()
    drop, natural_rate, reference = (
      Number(*(float(row[f"{name}{end}"]) for end in ("", "_lo", "_hi")))
      for name in ("drop", "accuracy", "reference")
    )
    apart = natural.drop(reference, natural_rate)
    self.assertAlmostEqual(drop.value, apart.value)
    # Nine pictures of 10 and 12 are shared, each right on both sides or on none.
    self.assertLess(_width(drop), 0.75 * _width(apart))
    self.assertBetween(drop.value, *drop.interval)

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

  def test_covers_pairs(self):
    """Of pictures of which a tenth has no label in the second set, at 95 %."""
    rng, hits, widths = np.random.default_rng(1), 0, np.zeros(2)
    for _ in range(2000):
      hard = rng.normal(size=200)
      first, second = hard < 0.8, hard + 0.4 * rng.normal(size=200) < 0.5
      a = dict(enumerate(first.astype(float)))
      b = dict(enumerate(second[:180].astype(float)))
      rates = _rate(first.sum(), 200), _rate(second[:180].sum(), 180)
      alike = natural.correlation(a, b)
      lo, hi = natural.drop(*rates, alike).interval
      hits += lo <= _TRUE_DROP <= hi
      apart = natural.drop(*rates).interval
      widths += hi - lo, apart[1] - apart[0]
    self.assertBetween(hits / 2000, 0.94, 0.985)
    self.assertLess(widths[0], 0.75 * widths[1])


def _width(number: Number) -> float:
  lo, hi = number.interval
  return hi - lo


def _rate(hits: int, count: int) -> Number:
  from eval.metrics import intervals

  ((value, lo, hi),) = intervals.rates([hits], count)
  return Number(value, lo, hi)
