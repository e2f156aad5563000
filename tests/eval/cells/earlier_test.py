"""Workdirs of versions 2 and 3 are read; their layouts are written here by hand."""

import hashlib
import io
import json
import pathlib
import zipfile

import ml_collections
import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import conditions, errors
from robust_tfds.eval.cells import config_file, earlier
from robust_tfds.eval.cells import workdir as workdir_lib
from robust_tfds.eval.cells.cell import Cell

_CONFIG = {
  "task": "classification",
  "seed": 0,
  "data": {
    "name": "digits_c",
    "corruptions": ["fog"],
    "severities": [3],
    "limit": 3,
    "codec": "raw",
    "cache_gib": 4.0,
  },
  "models": {"a": {"name": "y"}, "my net": {"name": "x"}},
}
_FOG = conditions.PICTURES.parse("fog_3")


def _columns(top: int = 1) -> dict[str, np.ndarray]:
  return {
    "example_id": np.array(["a", "b", "c"]),
    "group_id": np.array(["a", "b", "c"]),
    "frame": np.zeros(3, np.int32),
    "label": np.array([0, 1, 2], np.int32),
    "top5": np.full((3, 5), top, np.int32),
    "score": np.full((3, 5), 0.2, np.float32),
  }


def _npz(columns: dict[str, np.ndarray]) -> bytes:
  """As versions 2 and 3 saved columns: plain arrays, without the time of day."""
  file = io.BytesIO()
  with zipfile.ZipFile(file, "w") as archive:
    for name, array in columns.items():
      with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as out:
        np.lib.format.write_array(out, array, allow_pickle=False)
  return file.getvalue()


def _cell(model: str, condition: conditions.Condition) -> dict:
  return {
    "model": model,
    "dataset": "digits_c",
    "config": condition.config,
    "corruption": condition.name,
    "severity": condition.level,
    "kind": "pictures",
    "seed": 0,
    "fingerprint": f"{model}-{condition.config}",
  }


def _split(columns: dict[str, np.ndarray]) -> dict:
  ids = json.dumps(columns["example_id"].tolist(), separators=(",", ":"))
  return {
    "name": "digits/test",
    "rows": 3,
    "examples": 3,
    "ids": hashlib.sha256(ids.encode()).hexdigest(),
  }


def _file(data: bytes) -> dict:
  return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _with_checksum(facts: dict, **separators) -> dict:
  text = json.dumps(facts, sort_keys=True, **separators)
  return {**facts, "checksum": hashlib.sha256(text.encode()).hexdigest()}


def write_version_2(root: pathlib.Path, pixels: int = 2) -> None:
  """A workdir as the house wrote it."""
  root.mkdir(parents=True)
  config = {**_CONFIG, "versions": {"workdir": 2, "pixels": pixels}}
  (root / "config.json").write_text(json.dumps(config, indent=1))
  for top, model in enumerate(("a", "my net")):
    for condition in (conditions.Condition(), _FOG):
      folder = root / "cells" / model.replace(" ", "-") / "digits_c"
      folder = folder / condition.config / "seed0"
      folder.mkdir(parents=True)
      (folder / "predictions.npz").write_bytes(_npz(_columns(top)))
      note = json.dumps(_cell(model, condition), indent=1, sort_keys=True)
      (folder / "provenance.json").write_text(note + "\n")


def write_version_3(root: pathlib.Path, checksum: bool = True) -> None:
  """A workdir with checksums; those of its first day had none of the config."""
  root.mkdir(parents=True)
  config = {**_CONFIG, "versions": {"workdir": 3, "pixels": 3}}
  config = _with_checksum(config) if checksum else config
  (root / "config.json").write_text(json.dumps(config))
  for top, model in enumerate(("a", "my net")):
    for condition in (conditions.Condition(), _FOG):
      folder = root / "cells" / model.replace(" ", "%20") / "digits_c"
      folder = folder / condition.config / "seed0"
      folder.mkdir(parents=True)
      columns = _columns(top)
      data = _npz(columns)
      (folder / "predictions.npz").write_bytes(data)
      facts = {
        "version": 1,
        **_cell(model, condition),
        "random": False,
        "split": _split(columns),
        "files": {"predictions.npz": _file(data)},
      }
      note = _with_checksum(facts, separators=(",", ":"))
      (folder / "provenance.json").write_text(json.dumps(note))


_WRITERS = {2: write_version_2, 3: write_version_3}


class EarlierTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path) / "run"

  def _write(self, version: int) -> workdir_lib.Workdir:
    _WRITERS[version](self.root)
    return earlier.opened(self.root)

  def _folder(self) -> pathlib.Path:
    return next(self.root.glob("cells/my*/digits_c/fog_3/seed0"))

  def _edit_note(self, **changes) -> None:
    path = self._folder() / "provenance.json"
    note = {**json.loads(path.read_text()), **changes}
    path.write_text(json.dumps(note))

  @parameterized.parameters(2, 3)
  def test_all_is_read(self, version):
    workdir = self._write(version)
    self.assertEqual(workdir.labels(), ["a", "my net"])
    self.assertEqual(workdir.config(), ml_collections.ConfigDict(_CONFIG))
    self.assertEqual(workdir.versions()["workdir"], version)
    cells = workdir.cells()
    self.assertEqual(
      [(c.model, c.condition.config, c.fingerprint) for c in cells],
      [
        (label, config, f"{label}-{config}")
        for label in ("a", "my net")
        for config in ("clean", "fog_3")
      ],
    )
    for top, label in enumerate(("a", "my net")):
      cell = next(c for c in cells if c.model == label)
      columns = workdir.columns(cell)
      self.assertCountEqual(columns, _columns())
      for name, values in _columns(top).items():
        np.testing.assert_array_equal(columns[name], values)
    self.assertIsNone(workdir.truth())
    self.assertEmpty(workdir.damaged())
    workdir.check_cells()

  @parameterized.parameters(2, 3)
  def test_its_notes_are_those_of_today(self, version):
    workdir = self._write(version)
    note = workdir.note(workdir.cells()[0])
    today = workdir_lib.Workdir(self.root.parent / "today")
    written = Cell("a", "digits_c", conditions.Condition())
    today.write_cell(written, _columns(0))
    expected = today.note(written).split
    self.assertEqual(note.split.ids, expected.ids)
    self.assertEqual(note.split.labels, expected.labels)
    self.assertEqual((note.split.rows, note.split.examples), (3, 3))
    self.assertEqual(note.fingerprint, "a-clean")

  def test_version_3_without_a_checksum_of_its_config(self):
    write_version_3(self.root, checksum=False)
    self.assertLen(earlier.opened(self.root).cells(), 4)

  def test_pixels_of_another_version_are_a_fact(self):
    write_version_2(self.root, pixels=7)
    self.assertEqual(earlier.opened(self.root).versions()["pixels"], 7)

  @parameterized.parameters(2, 3)
  def test_none_is_continued_or_written(self, version):
    workdir = self._write(version)
    config = ml_collections.ConfigDict(_CONFIG)
    with self.assertRaisesRegex(
      errors.UserError,
      f"workdir of version {version}; .* eval.score read it; run again in a new",
    ):
      workdir_lib.Workdir(self.root).check(config)
    with self.assertRaisesRegex(errors.UserError, "nothing is written"):
      workdir.write_cell(workdir.cells()[0], _columns())

  @parameterized.parameters(1, 0, 99, "x", None)
  def test_other_versions_are_refused(self, version):
    self._write(2)
    path = self.root / "config.json"
    config = json.loads(path.read_text())
    config["versions"]["workdir"] = version
    path.write_text(json.dumps(config))
    with self.assertRaisesRegex(
      errors.UserError, f"of version {version}; this code reads 2, 3, 4"
    ):
      earlier.opened(self.root)

  def test_todays_is_a_plain_workdir_of_any_pixels(self):
    workdir = workdir_lib.Workdir(self.root)
    workdir.claim(ml_collections.ConfigDict(_CONFIG))
    cell = Cell("a", "digits_c", _FOG, 0, "f")
    workdir.write_cell(cell, _columns())
    path = self.root / "config.json"
    config = json.loads(path.read_text())
    del config["checksum"]
    config["versions"]["pixels"] = 1
    path.write_text(json.dumps(_with_checksum(config)))
    read = earlier.opened(self.root)
    self.assertEqual(
      read.versions(), {"workdir": config_file.VERSION, "pixels": 1}
    )
    self.assertEqual(read.cells(), [cell])

  @parameterized.parameters(
    (2, {"seed": "0"}, "seed: got '0'"),
    (2, {"model": "other"}, "holds the cell other digits_c fog_3 seed0"),
    (2, {"more": 1}, "more: got 1"),
    (2, {"config": "fog_9"}, "holds the cell my net digits_c fog_9 seed0"),
    (3, {"fingerprint": "g"}, "checksum: it is not that of the other fields"),
    (3, {"version": 2}, "version: got 2"),
  )
  def test_a_changed_note_is_refused(self, version, changes, message):
    workdir = self._write(version)
    self._edit_note(**changes)
    with self.assertRaisesRegex(
      errors.UserError, f"{message}.*move its folder away"
    ):
      workdir.cells()
    self.assertLen(workdir.damaged(), 1)

  @parameterized.parameters(2, 3)
  def test_damaged_predictions_are_refused(self, version):
    workdir = self._write(version)
    path = self._folder() / "predictions.npz"
    path.write_bytes(path.read_bytes()[:-40])
    with self.assertRaisesRegex(
      errors.UserError, f"^{path}: .*move its folder away to read the others"
    ):
      workdir.cells()

  def test_a_pickle_is_refused(self):
    workdir = self._write(2)
    path = self._folder() / "predictions.npz"
    np.savez(path, example_id=np.array([{"a": 1}], dtype=object))
    with self.assertRaisesRegex(errors.UserError, "a pickle"):
      workdir.cells()

  @parameterized.parameters(
    ({"frame": None}, "lacks the column frame"),
    ({"label": np.zeros(2, np.int32)}, "other numbers of rows"),
    ({"label": np.int32(3)}, "other numbers of rows"),
    ({"example_id": np.array(["a", "a", "b"])}, "more than one prediction"),
  )
  def test_columns_that_are_none(self, changes, message):
    workdir = self._write(2)
    columns = {**_columns(), **changes}
    columns = {k: v for k, v in columns.items() if v is not None}
    (self._folder() / "predictions.npz").write_bytes(_npz(columns))
    with self.assertRaisesRegex(errors.UserError, message):
      workdir.cells()

  def test_a_link_is_refused(self):
    workdir = self._write(2)
    folder = self._folder()
    moved = folder.rename(self.root / "elsewhere")
    folder.symlink_to(moved)
    with self.assertRaisesRegex(errors.UserError, "a symbolic link"):
      workdir.cells()

  def test_ground_truth(self):
    workdir = self._write(2)
    (self.root / "truth.json").write_text('{"images": []}')
    self.assertEqual(workdir.truth(), {"images": []})
    digest = hashlib.sha256(b'{"images": []}').hexdigest()
    self.assertEqual(workdir.truth_sha256, digest)

  def test_a_cell_that_was_replaced_meanwhile(self):
    workdir = self._write(2)
    cell = workdir.cells()[3]
    self._edit_note(fingerprint="other")
    with self.assertRaisesRegex(errors.UserError, "replaced while it was read"):
      workdir.columns(cell)


if __name__ == "__main__":
  absltest.main()
