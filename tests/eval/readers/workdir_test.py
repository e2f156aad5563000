"""Workdirs of runs: one, the parts of one, several side by side."""

import pathlib
from unittest import mock

import ml_collections
import numpy as np
from absl.testing import absltest

from robust_tfds import conditions, errors
from robust_tfds.eval.cells import provenance
from robust_tfds.eval.cells.cell import Cell
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.readers import base
from robust_tfds.eval.readers import workdir as workdir_reader


def config_of(*labels, **data) -> ml_collections.ConfigDict:
  """The config of a run of some models over fog."""
  return ml_collections.ConfigDict(
    {
      "task": "classification",
      "seed": 0,
      "batch_size": 8,
      "baseline": "",
      "models": {label: {"name": "digits_cnn"} for label in labels},
      "data": {
        "name": "digits_c",
        "source": "fly",
        "codec": "raw",
        "corruptions": "fog",
        "severities": (1, 3),
        **data,
      },
    }
  )


def write(
  folder,
  config,
  configs=("clean", "fog_1", "fog_3"),
  mark="0",
  of_model="",
) -> None:
  """A workdir with these cells of all its models."""
  workdir = Workdir(folder)
  workdir.claim(config)
  for label in config.models:
    for name in configs:
      condition = conditions.parse(name)
      cell = Cell(
        label,
        config.data.name,
        condition,
        config.seed,
        mark,
        of_model=of_model,
      )
      wrong = np.arange(10) < condition.level
      ids = np.array([f"x{i}" for i in range(10)])
      workdir.write_cell(
        cell,
        {
          "example_id": ids,
          "group_id": ids,
          "frame": np.zeros(10, np.int32),
          "label": np.zeros(10, np.int32),
          "top5": np.where(wrong, 1, 0)[:, None] + np.arange(5),
        },
      )


class WorkdirReaderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _read(self, *names, **options) -> base.Run:
    paths = [self.root / name for name in names]
    return workdir_reader.WorkdirReader().read(paths, base.Options(**options))

  def _cells(self, *names) -> list[tuple[str, str]]:
    cells = self._read(*names).cells
    return [(c.model, c.condition.config) for c in cells]

  def test_one(self):
    write(self.root / "run", config_of("a", "b"))
    predictions = self._read("run")
    self.assertEqual(
      self._cells("run"),
      [(m, c) for m in "ab" for c in ("clean", "fog_1", "fog_3")],
    )
    self.assertEqual(predictions.notes, ["scored again from 6 of 6 cells"])
    self.assertEqual(predictions.model_names["a"], "digits_cnn")
    columns = predictions.columns(predictions.cells[-1])
    self.assertEqual((columns["top5"][:, 0] == 0).sum(), 7)

  def test_the_baseline_can_be_another(self):
    write(self.root / "run", config_of("a"))
    self.assertEqual(self._read("run").config.baseline, "")
    again = self._read("run", baseline="model:a")
    self.assertEqual(again.config.baseline, "model:a")
    with self.assertRaisesRegex(
      ValueError, "--seed=1 means nothing for a work"
    ):
      self._read("run", seed=1)

  def test_parts_of_one_run(self):
    config = config_of("a", "b")
    write(self.root / "one", config, ("fog_3", "clean"))
    write(self.root / "two", config, ("fog_1", "clean"))
    merged = self._read("two", "one")
    self.assertEqual(
      [(c.model, c.condition.config) for c in merged.cells],
      [(m, c) for m in "ab" for c in ("clean", "fog_1", "fog_3")],
    )
    self.assertEqual(merged.notes, ["scored again from 6 of 6 cells"])
    write(self.root / "three", config, ("clean",), mark="1")
    with self.assertRaisesRegex(
      ValueError, "both hold a clean, made from other"
    ):
      self._read("one", "three")

  def test_parts_of_one_run_by_other_weights(self):
    config = config_of("a")
    write(self.root / "one", config, ["clean", "fog_1"], of_model="1")
    write(self.root / "two", config, ["fog_3"], of_model="1")
    self.assertLen(self._cells("one", "two"), 3)
    write(self.root / "three", config, ["fog_3"], of_model="2")
    with self.assertRaisesRegex(
      errors.UserError, "one and .*three both hold cells of a, .* other weights"
    ):
      self._cells("one", "three")

  def test_runs_side_by_side(self):
    write(self.root / "one", config_of("b"))
    write(
      self.root / "two", config_of("a", severities=(1,)), ("clean", "fog_1")
    )
    self.assertEqual([m for m, _ in self._cells("one", "two")], [*"bbb", *"aa"])
    write(self.root / "three", config_of("b", severities=(1,)), ("clean",))
    with self.assertRaisesRegex(ValueError, "'b' is in .*one and in .*three"):
      self._read("one", "three")

  def test_cells_of_other_pixels_are_not_scored_together(self):
    write(self.root / "one", config_of("a"))
    with mock.patch.object(provenance, "PIXELS_VERSION", 2):
      write(self.root / "other", config_of("b"))
    self._read("other")
    with self.assertRaisesRegex(
      ValueError, r"not comparable \(pixels of version: 3 and 2\)"
    ):
      self._read("one", "other")

  def test_runs_that_are_not_comparable(self):
    write(self.root / "one", config_of("a"))
    for name, data in (
      ("codec", {"codec": "jpeg85"}),
      ("limit", {"limit": 9}),
      ("name", {"name": "imagenet_c"}),
    ):
      write(self.root / name, config_of("b", **data))
      with self.assertRaisesRegex(ValueError, f"not comparable .data.{name}"):
        self._read("one", name)

  def test_no_workdir(self):
    with self.assertRaisesRegex(ValueError, "is no workdir"):
      self._read(".")
    Workdir(self.root / "empty").claim(config_of("a"))
    with self.assertRaisesRegex(ValueError, "empty: no finished cells yet"):
      self._read("empty")


if __name__ == "__main__":
  absltest.main()
