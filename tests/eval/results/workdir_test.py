"""A run's folder: whose it is, its cells, and which it refuses."""

import json
import pathlib

import ml_collections
import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import conditions
from robust_tfds import errors
from robust_tfds.eval.results import provenance
from robust_tfds.eval.results import workdir as workdir_lib
from robust_tfds.eval.results.cell import Cell


def _config(**data) -> ml_collections.ConfigDict:
  return ml_collections.ConfigDict(
    {
      "task": "classification",
      "seed": 0,
      "batch_size": 8,
      "reports": True,
      "data": {"name": "digits_c", "limit": 64, "data_dir": "/a", **data},
      "models": {"second": {"name": "x"}, "first": {"name": "y"}},
    }
  )


def _columns(*ids: str) -> dict[str, np.ndarray]:
  return {
    "example_id": np.array(ids),
    "frame": np.zeros(len(ids), np.int32),
    "label": np.arange(len(ids)),
  }


def _cell(config: str, model: str = "first", fingerprint: str = "f") -> Cell:
  condition = conditions.PICTURES.parse(config)
  return Cell(model, "digits_c", condition, 0, fingerprint)


class _WorkdirTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    root = pathlib.Path(self.create_tempdir().full_path)
    self.workdir = workdir_lib.Workdir(root / "run")

  def _edit(self, **changes) -> None:
    """Changes config.json as another program would have written it."""
    path = self.workdir.config_path
    config = {**json.loads(path.read_text()), **changes}
    kept = {k: v for k, v in config.items() if v is not None}
    path.write_text(json.dumps(kept))

  def _refuses(self, message: str, config=None) -> None:
    before = self.workdir.config_path.read_bytes()
    with self.assertRaisesRegex(errors.UserError, message):
      self.workdir.claim(config or _config())
    self.assertEqual(self.workdir.config_path.read_bytes(), before)


class ClaimTest(_WorkdirTest):
  def test_writes_both_versions_and_reads_the_config_back(self):
    self.workdir.claim(_config())
    written = json.loads(self.workdir.config_path.read_text())
    self.assertEqual(
      written["versions"],
      {"workdir": workdir_lib.VERSION, "pixels": provenance.PIXELS_VERSION},
    )
    self.assertEqual(self.workdir.config(), _config())

  def test_a_workdir_without_versions_is_of_version_1(self):
    self.workdir.claim(_config())
    self._edit(versions=None)
    self._refuses("is a workdir of version 1; this code .* version 2")
    with self.assertRaisesRegex(errors.UserError, "of version 1"):
      self.workdir.config()

  @parameterized.parameters(1, 3)
  def test_another_version(self, version):
    self.workdir.claim(_config())
    pixels = provenance.PIXELS_VERSION
    self._edit(versions={"workdir": version, "pixels": pixels})
    self._refuses(f"is a workdir of version {version}; .*new --workdir")

  def test_other_pixels_are_neither_continued_nor_read(self):
    self.workdir.claim(_config())
    version = workdir_lib.VERSION
    self._edit(versions={"workdir": version, "pixels": 1})
    self._refuses("cells of pixels of version 1; .* must not mix")
    with self.assertRaisesRegex(errors.UserError, "pixels of version 1"):
      self.workdir.config()

  def test_another_config_is_refused_and_the_difference_named(self):
    self.workdir.claim(_config())
    other = _config(limit=32, codec="raw")
    self._refuses(
      r"another config \(data\.codec: None there, 'raw' now;"
      r" data\.limit: 64 there, 32 now\)",
      other,
    )

  def test_what_cannot_change_a_number_may_change(self):
    self.workdir.claim(_config())
    other = _config(data_dir="/b", manual_dir="/m", cache_gib=1.0)
    other.batch_size, other.reports = 4, False
    self.workdir.claim(other)
    self.assertEqual(self.workdir.config(), other)

  @parameterized.parameters(
    ("{", "no JSON"), ("[1]", "expected an object, got list")
  )
  def test_broken_files(self, text, message):
    self.workdir.path.mkdir()
    self.workdir.config_path.write_text(text)
    self._refuses(message)

  def test_no_workdir(self):
    with self.assertRaisesRegex(errors.UserError, "run is no workdir"):
      self.workdir.config()


class CellsTest(_WorkdirTest):
  def test_a_written_cell_says_its_own_fingerprint(self):
    self.workdir.write_cell(_cell("fog_3", fingerprint="old"), _columns("a"))
    asked = _cell("fog_3", fingerprint="new")
    self.assertTrue(self.workdir.done(asked))
    self.assertEqual(self.workdir.note(asked).fingerprint, "old")
    self.assertFalse(self.workdir.done(_cell("fog_2")))

  def test_hosts_write_shards(self):
    cell = _cell("clean")
    self.workdir.write_shard(cell, _columns("b"), 0, 2)
    self.assertFalse(self.workdir.done(cell))
    with self.assertRaisesRegex(FileNotFoundError, "process 1 of 2"):
      self.workdir.finish_cell(cell, 2)
    self.workdir.write_shard(cell, _columns("a"), 1, 2)
    self.workdir.finish_cell(cell, 2)
    ids = self.workdir.columns(cell)["example_id"]
    self.assertEqual(ids.tolist(), ["a", "b"])

  def test_unfinished_cells_are_discarded(self):
    self.assertFalse(self.workdir.has_cells())
    self.workdir.write_shard(_cell("clean"), _columns("a"))
    self.assertTrue(self.workdir.has_cells())
    self.workdir.discard_unfinished()
    with self.assertRaises(FileNotFoundError):
      self.workdir.finish_cell(_cell("clean"))

  def test_order_of_the_config_then_of_the_papers(self):
    config = _config()
    self.workdir.claim(config)
    for model in ("other", "first", "second"):
      for name in ("fog_2", "clean", "fog_1", "gaussian_noise_5"):
        self.workdir.write_cell(_cell(name, model), _columns("a"))
    cells = self.workdir.cells()
    self.assertEqual(
      list(dict.fromkeys(c.model for c in cells)),
      [*self.workdir.labels(), "other"],
    )
    self.assertEqual(
      [c.condition.config for c in cells[:4]],
      ["clean", "gaussian_noise_5", "fog_1", "fog_2"],
    )

  def test_truth(self):
    self.assertIsNone(self.workdir.truth())
    self.workdir.path.mkdir()
    self.workdir.write_truth({"images": [1]})
    self.assertEqual(self.workdir.truth(), {"images": [1]})


class LabelsTest(absltest.TestCase):
  def test_a_single_model_or_many(self):
    # ConfigDict sorts its keys.
    self.assertEqual(workdir_lib.labels_of(_config()), ["first", "second"])
    config = ml_collections.ConfigDict({"model": {"name": "n", "label": ""}})
    self.assertEqual(workdir_lib.labels_of(config), ["n"])
    config.model.label = "l"
    self.assertEqual(workdir_lib.labels_of(config), ["l"])


if __name__ == "__main__":
  absltest.main()
