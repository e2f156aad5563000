"""Workdirs of runs: one, the parts of one, several side by side."""

from unittest import mock

from eval.cells import provenance
from eval.cells.workdir import Workdir
from eval.readers import base
from eval.readers import workdir as workdir_reader
from robust_tfds import errors
from tests import in_folder
from tests.eval.compare import small_runs

_CONFIGS = ("clean", "fog_1", "fog_3")
_OTHER = {"of_models": {"a": {"weights": "9" * 64}}}


class WorkdirReaderTest(in_folder.TestCase):
  def _write(self, folder, labels, configs=_CONFIGS, **others) -> None:
    """A run of some models over fog, of which some cells are there."""
    small_runs.write(
      self.root / folder,
      dict.fromkeys(labels, 0.2),
      names=["fog"],
      chosen=lambda _, condition: condition.config in configs,
      **{"corruptions": "fog", "severities": (1, 3), **others},
    )

  def _read(self, *names, **options) -> base.Run:
    paths = [self.root / name for name in names]
    return workdir_reader.WorkdirReader().read(paths, base.Options(**options))

  def _cells(self, *names) -> list[tuple[str, str]]:
    cells = self._read(*names).cells
    return [(c.model, c.condition.config) for c in cells]

  def test_one(self):
    self._write("run", "ab")
    predictions = self._read("run")
    self.assertEqual(
      self._cells("run"), [(m, c) for m in "ab" for c in _CONFIGS]
    )
    self.assertEqual(predictions.notes, ["scored again from 6 of 6 cells"])
    self.assertEqual(predictions.model_names["a"], "digits_cnn")
    columns = predictions.columns(predictions.cells[-1])
    right = columns["top5"][:, 0] == columns["label"]
    self.assertEqual(right.sum(), 29)  # 26 % of 40 are wrong, rounded up

  def test_the_baseline_can_be_another(self):
    self._write("run", "a")
    self.assertEqual(self._read("run").config.baseline, "")
    again = self._read("run", baseline="model:a")
    self.assertEqual(again.config.baseline, "model:a")
    with self.assertRaisesRegex(
      ValueError, "--seed=1 means nothing for a work"
    ):
      self._read("run", seed=1)

  def test_parts_of_one_run(self):
    self._write("one", "ab", ("fog_3", "clean"))
    self._write("two", "ab", ("fog_1", "clean"))
    merged = self._read("two", "one")
    self.assertEqual(
      [(c.model, c.condition.config) for c in merged.cells],
      [(m, c) for m in "ab" for c in _CONFIGS],
    )
    self.assertEqual(merged.notes, ["scored again from 6 of 6 cells"])
    self._write("three", "ab", ("clean",), **_OTHER)
    with self.assertRaisesRegex(
      ValueError, "both hold a clean, made from other"
    ):
      self._read("one", "three")

  def test_parts_of_one_run_by_other_weights(self):
    self._write("one", "a", ("clean", "fog_1"))
    self._write("two", "a", ("fog_3",))
    self.assertLen(self._cells("one", "two"), 3)
    self._write("three", "a", ("fog_3",), **_OTHER)
    with self.assertRaisesRegex(
      errors.UserError, "one and .*three both hold cells of a, .* other weights"
    ):
      self._cells("one", "three")

  def test_runs_side_by_side(self):
    self._write("one", "b")
    self._write("two", "a", ("clean", "fog_1"), severities=(1,))
    self.assertEqual([m for m, _ in self._cells("one", "two")], [*"bbb", *"aa"])
    self._write("three", "b", ("clean",), severities=(1,))
    with self.assertRaisesRegex(ValueError, "'b' is in .*one and in .*three"):
      self._read("one", "three")

  def test_cells_of_other_pixels_are_not_scored_together(self):
    self._write("one", "a")
    with mock.patch.object(provenance, "PIXELS_VERSION", 2):
      self._write("other", "b")
    self._read("other")
    with self.assertRaisesRegex(
      ValueError, r"not comparable \(pixels of version: 4 and 2\)"
    ):
      self._read("one", "other")

  def test_runs_that_are_not_comparable(self):
    self._write("one", "a")
    for name, data in (
      ("codec", {"codec": "jpeg85"}),
      ("limit", {"limit": 9}),
      ("name", {"name": "imagenet_c"}),
    ):
      self._write(name, "b", **data)
      with self.assertRaisesRegex(ValueError, f"not comparable .data.{name}"):
        self._read("one", name)

  def test_no_workdir(self):
    with self.assertRaisesRegex(ValueError, "is no workdir"):
      self._read(".")
    Workdir(self.root / "empty").claim(small_runs.config("a"))
    with self.assertRaisesRegex(ValueError, "empty: no finished cells yet"):
      self._read("empty")
