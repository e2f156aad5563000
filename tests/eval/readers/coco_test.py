"""Results lists of other programs, one a cell.

Files that are none are refused in tests/faults/detections_cases.py.
"""

import json
import math
import pathlib

import numpy as np

from eval import score
from eval.cells import table
from eval.metrics import detection
from eval.readers import base, coco
from robust_tfds import conditions, errors
from tests import in_folder, in_process
from tests.faults import scored


def truth():
  """Three pictures of one object each."""
  return {
    "images": [{"id": i, "width": 100, "height": 80} for i in (1, 2, 3)],
    "categories": [{"id": 5, "name": "cat"}, {"id": 9, "name": "dog"}],
    "annotations": [
      {
        "id": i,
        "image_id": i,
        "category_id": 5 if i < 3 else 9,
        "bbox": [10.0 * i, 5, 30, 40],
        "area": 1200,
        "iscrowd": 0,
      }
      for i in (1, 2, 3)
    ],
  }


def results(shift):
  """The objects, moved to the right."""
  return [
    {
      "image_id": a["image_id"],
      "category_id": a["category_id"],
      "bbox": [a["bbox"][0] + shift, *a["bbox"][1:]],
      "score": 0.9,
    }
    for a in truth()["annotations"]
  ]


def _clean(found) -> float:
  return detection.coco_ap(truth(), found, "bbox")["AP"]


def write(folder: pathlib.Path) -> pathlib.Path:
  """A whole folder, the harder the farther moved."""
  folder.mkdir()
  names = conditions.PICTURES.names()
  for condition in conditions.PICTURES.select("all", conditions.SEVERITIES):
    shift = 0.0
    if not condition.clean:
      shift = condition.level + names.index(condition.name) / 10
    path = folder / f"{condition.config}.json"
    path.write_text(json.dumps(results(shift)))
  return folder


class CocoReaderTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = write(self.root / "mine")
    self.truth = self.root / "truth.json"
    self.truth.write_text(json.dumps(truth()))

  def _read(self, *folders, **options) -> base.Run:
    options = {"truth": self.truth, **options}
    folders = folders or (self.folder,)
    return coco.CocoReader().read(folders, base.Options(**options))

  def _rows(self, **options) -> list[table.Row]:
    return self._read(**options).rows()

  def _p(self, file) -> float:
    """The clean AP that the command gives of one list."""
    out = self.create_tempdir().full_path
    flags = (f"--predictions={file}", f"--truth={self.truth}", f"--out={out}")
    done = in_process.run(score, *flags)
    self.assertEqual(done.returncode, 0, done.stderr)
    return scored.value(scored.table(pathlib.Path(out)), "p")

  def test_a_list_alone_is_of_the_clean_pictures(self):
    file = self.root / "net.json"
    file.write_text(json.dumps(results(5.0)))
    self.assertEqual(self._p(file), _clean(results(5.0)))
    fog = self.root / "fog_3.json"
    fog.write_text(json.dumps(results(0)))
    with self.assertRaisesRegex(errors.UserError, "fog_3.json is not a folder"):
      self._read(fog)
    with self.assertRaisesRegex(
      errors.UserError, "--truth: missing. .*net.json"
    ):
      self._read(file, truth=None)

  def test_boxes_in_another_form_are_refused(self):
    def corners(x, y, w, h):
      return [x + 40, y, x + 40 + w, y + h]

    def shares(x, y, w, h):
      return [x / 100, y / 80, w / 100, h / 80]

    for form, words in (
      (corners, r"3 boxes are \(x1, y1"),
      (shares, "3 boxes are shares"),
    ):
      file = self.root / "net.json"
      rows = [{**row, "bbox": form(*row["bbox"])} for row in results(0)]
      file.write_text(json.dumps(rows))
      out = self.root / "out"
      flags = (f"--predictions={file}", f"--truth={self.truth}", f"--out={out}")
      done = in_process.run(score, *flags)
      self.assertEqual(done.returncode, 1, done.stdout)
      self.assertRegex(done.stderr, f"net.json: bbox: its {words}")

  def test_pictures_are_found_by_their_names(self):
    expected = _clean(results(5.0))
    for names, called in (
      (["s/a.jpg", "s/b.jpg", "c.png"], ["a", "s/b.jpg", "c.png"]),
      (["0011.jpg", "0012.jpg", "0013.jpg"], [11, 12, "0013"]),
    ):
      images = [
        {**image, "file_name": name}
        for image, name in zip(truth()["images"], names)
      ]
      self.truth.write_text(json.dumps({**truth(), "images": images}))
      rows = [
        {**row, "image_id": name} for row, name in zip(results(5.0), called)
      ]
      rows[1]["file_name"] = rows[1].pop("image_id")
      file = self.root / "net.json"
      file.write_text(json.dumps(rows))
      self.assertEqual(self._p(file), expected)
    for name, count in (("d", 0), ("a", 2)):  # a.jpg, b/a.jpg
      images[0]["file_name"], images[1]["file_name"] = "a.jpg", "b/a.jpg"
      self.truth.write_text(json.dumps({**truth(), "images": images}))
      file.write_text(json.dumps([{**rows[0], "image_id": name}]))
      with self.assertRaisesRegex(
        errors.UserError, f"'{name}': got {count} images"
      ):
        self._read(file).rows()
    images[0]["file_name"], images[1]["file_name"] = "2.jpg", "4.jpg"
    self.truth.write_text(json.dumps({**truth(), "images": images}))
    file.write_text(json.dumps([{**rows[0], "image_id": 4}]))  # a name or an id
    with self.assertRaisesRegex(errors.UserError, "image 4, which"):
      self._read(file).rows()

  def test_table(self):
    rows = self._rows()
    cells = {
      n: [
        table.select(rows, config=f"{n}_{s}", metric="bbox/AP")[0].value
        for s in conditions.SEVERITIES
      ]
      for n in conditions.PICTURES.names()
    }
    clean = table.select(rows, config="clean", metric="bbox/AP")[0].value
    self.assertAlmostEqual(clean, 1.0)
    for scope, suffix in (("benchmark", ""), ("all", "_all")):
      expected = detection.summarize(cells, clean, scope)
      for key in ("mpc", "rpc"):
        (row,) = table.select(rows, metric=f"{key}{suffix}", corruption="")
        self.assertAlmostEqual(row.value, expected[key], delta=1e-12)
    (fog,) = table.select(rows, metric="mean_ap", corruption="fog")
    self.assertAlmostEqual(fog.value, np.mean(cells["fog"]))

  def test_the_rules_follow_the_data_set(self):
    metrics = {r.metric for r in self._rows(dataset="pascal_c") if r.config}
    self.assertEqual(metrics, {"bbox/AP50"})
    with self.assertRaisesRegex(ValueError, "Unknown rules 'vox'"):
      self._read(rules="vox")

  def test_an_incomplete_folder_has_no_mean(self):
    (self.folder / "fog_3.json").unlink()
    rows = self._rows()
    (mpc,) = table.select(rows, metric="mpc")
    self.assertTrue(math.isnan(mpc.value))
    self.assertEqual(mpc.note, "missing: fog 3 (1 of 75)")
    (validation,) = table.select(rows, metric="mpc_validation")
    self.assertFalse(math.isnan(validation.value))

  def test_nothing_detected_anywhere(self):
    for path in self.folder.glob("*.json"):
      path.write_text("[]")
    rows = self._rows()
    self.assertEqual(table.select(rows, metric="mpc")[0].value, 0.0)
    (rpc,) = table.select(rows, metric="rpc")
    self.assertEqual(rpc.note, "undefined: P is 0")
