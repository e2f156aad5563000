"""COCO's format, its rows and checks."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

from robust_tfds import coco as robust_tfds_coco
from robust_tfds import datasets
from robust_tfds.building.sources import coco
from robust_tfds.coco import format as coco_format
from robust_tfds.coco import rle
from robust_tfds.coco import rows as coco_rows
from robust_tfds.datasets.coco_c import coco_c_dataset_builder
from tests.datasets import coco_c_test

_IMAGES = 30
_SIZE = (120, 160)  # height, width


def _polygon(box, rng):
  x, y, w, h = box
  angles = np.sort(rng.random(9)) * 2 * np.pi
  points = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 0.5 + 0.5
  return (points * [w, h] + [x, y]).round(2).ravel().tolist()


def _official(rng):
  """Random boxes with two decimals, polygons, crowds, areas of all ranges."""
  content = {**coco_c_test.content(), "images": [], "annotations": []}
  for i in range(1, _IMAGES + 1):
    content["images"].append(
      {"id": 7 * i, "file_name": f"{i:012d}.jpg", "height": _SIZE[0],
       "width": _SIZE[1]}
    )  # fmt: skip
    for _ in range(int(rng.integers(0, 7))):
      w, h = rng.uniform(4, 100, 2).round(2).tolist()
      x = round(rng.uniform(0, _SIZE[1] - w), 2)
      y = round(rng.uniform(0, _SIZE[0] - h), 2)
      crowd = int(rng.random() < 0.15)
      polygon = _polygon((x, y, w, h), rng)
      segmentation = [polygon]
      if crowd:
        runs = rle.counts(rle.from_polygons([polygon], _SIZE)).tolist()
        segmentation = {"size": list(_SIZE), "counts": runs}
      content["annotations"].append(
        {
          "id": len(content["annotations"]) + 1,
          "image_id": 7 * i,
          "category_id": int(rng.choice([1, 13, 90])),
          "bbox": [x, y, w, h],
          "area": w * h * 0.6 + 1 / 3,
          "iscrowd": crowd,
          "segmentation": segmentation,
        }
      )
  return content


def _detections(content, rng):
  """Shaken copies of the annotations and a few of nothing."""
  out = []
  for a in content["annotations"]:
    x, y, w, h = a["bbox"]
    for scale in (0.02, 0.2):
      box = [
        x + scale * w * rng.normal(),
        y + scale * h * rng.normal(),
        w * (1 + scale * rng.random()),
        h * (1 + scale * rng.random()),
      ]
      mask = rle.from_polygons([_polygon(box, rng)], _SIZE)
      out.append(
        {
          "image_id": a["image_id"],
          "category_id": a["category_id"] if rng.random() < 0.8 else 13,
          "bbox": box,
          "segmentation": {"size": list(_SIZE), "counts": mask.counts},
          "score": float(rng.random()),
        }
      )
  return out


def _numbers(truth, detections, kind):
  from pycocotools import coco, cocoeval

  with contextlib.redirect_stdout(io.StringIO()):
    reference = coco.COCO()
    reference.dataset = truth
    reference.createIndex()
    results = [
      {k: v for k, v in d.items() if kind == "segm" or k != "segmentation"}
      for d in detections
    ]
    run = cocoeval.COCOeval(reference, reference.loadRes(results), kind)
    run.evaluate()
    run.accumulate()
    run.summarize()
  return run.stats


class CocoFormatTest(parameterized.TestCase):
  def test_the_numbers_of_the_official_json(self):
    rng = np.random.default_rng(1)
    content = _official(rng)
    detections = _detections(content, rng)
    root = pathlib.Path(self.create_tempdir().full_path)
    (root / "val2017").mkdir()
    (root / "annotations").mkdir()
    for entry in content["images"]:
      data = coco_c_test.jpeg(_SIZE[::-1])
      (root / "val2017" / entry["file_name"]).write_bytes(data)
    (root / "annotations" / "instances_val2017.json").write_text(
      json.dumps(content)
    )
    built = datasets.prepare(
      "coco_c",
      data_dir=self.create_tempdir().full_path,
      manual_dir=root,
    )
    truth = coco_format.ground_truth(
      tfds.as_numpy(
        built.as_dataset(
          split="validation", decoders={"image": tfds.decode.SkipDecoding()}
        )
      ),
      built.info.features["objects"]["label"].names,
      built.CATEGORY_IDS,
    )
    self.assertLen(truth["annotations"], len(content["annotations"]))
    for kind in ("bbox", "segm"):
      want = _numbers(content, detections, kind)
      self.assertGreater(want[0], 0.05)
      np.testing.assert_array_equal(_numbers(truth, detections, kind), want)

  def test_category_ids(self):
    ids = coco_c_dataset_builder.Builder.CATEGORY_IDS
    names = list(coco.categories().values())
    self.assertEqual(coco_format.category_ids(names, ids)[-1], 90)
    self.assertEqual(coco_format.category_ids(["a", "b"]), [1, 2])
    for bad in ([1], [1, 1]):
      with self.assertRaisesRegex(ValueError, "2 different category ids"):
        coco_format.category_ids(["a", "b"], bad)

  def test_difficult_and_no_masks(self):
    objects = {
      "id": [5],
      "label": [1],
      "bbox_px": np.array([[1.0, 2.0, 3.0, 4.0]]),
      "area": [12.0],
      "is_crowd": [False],
      "is_difficult": [True],
    }
    truth = coco_format.ground_truth(
      [
        {
          "size": np.array([9, 8], np.int32),
          "image_id": 3,
          "example_id": b"000003.jpg",
          "objects": objects,
        }
      ],
      ["a", "b"],
    )
    self.assertEqual(
      truth,
      {
        "images": [
          {"id": 3, "file_name": "000003.jpg", "height": 9, "width": 8}
        ],
        "annotations": [
          {
            "id": 5,
            "image_id": 3,
            "category_id": 2,
            "bbox": [1.0, 2.0, 3.0, 4.0],
            "area": 12.0,
            "iscrowd": 0,
            "difficult": 1,
          }
        ],
        "categories": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
      },
    )


# The parent package registers builders; here it is a bare folder.
_PROGRAM = """
import importlib, pkgutil, sys, types
(folder,) = sys.argv[1:]
parent = types.ModuleType("robust_tfds")
parent.__path__ = [folder]
sys.modules["robust_tfds"] = parent
from robust_tfds import coco
for module in pkgutil.iter_modules(coco.__path__):
  importlib.import_module("robust_tfds.coco." + module.name)
print(sorted({"tensorflow_datasets", "tensorflow", "jax"} & set(sys.modules)))
"""


class CocoTest(absltest.TestCase):
  """COCO's formats load no TFDS: whoever reads boxes needs no builder."""

  def test_loads_no_tfds(self):
    (folder,) = robust_tfds_coco.__path__
    command = [sys.executable, "-c", _PROGRAM, str(pathlib.Path(folder).parent)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    self.assertEqual(out.stdout.strip(), "[]")


def _rows(*values, key="id") -> coco_rows.Rows:
  return coco_rows.Rows.from_list([{key: v} for v in values], "Row")


class RowsTest(parameterized.TestCase):
  @parameterized.parameters((None,), ("abc",), (5,), ({"a": 1},))
  def test_no_list(self, rows):
    with self.assertRaisesRegex(ValueError, "Row: a list of objects expected"):
      coco_rows.Rows.from_list(rows, "Row")

  def test_no_objects(self):
    with self.assertRaisesRegex(ValueError, "Row 1 is no object: 3"):
      coco_rows.Rows.from_list([{}, 3], "Row")

  def test_ids(self):
    self.assertEqual(_rows(5, 0, 2**40).ids("id"), [5, 0, 2**40])
    self.assertEqual(
      _rows(5.0, np.int64(3), np.float32(2)).ids("id"), [5, 3, 2]
    )
    for bad in (1.5, -1, True, "1", None, float("nan"), 2**63, np.bool_(True)):
      with self.assertRaisesRegex(ValueError, "Row 1: id is a whole number"):
        _rows(1, bad).ids("id")
    with self.assertRaisesRegex(ValueError, "Row 0 has no 'n'; it has id"):
      _rows(1).ids("n")
    with self.assertRaisesRegex(ValueError, "Two row entries have the id 3"):
      _rows(3, 3.0).unique("id")
    with self.assertRaisesRegex(ValueError, "Row 1 is of image 9, .*ids: 3"):
      _rows(3, 9).known_ids("id", "image", [3])

  def test_flags(self):
    rows = _rows(0, 1, True, False, 1.0, np.int8(1), np.bool_(False))
    self.assertEqual(
      rows.flags("id"), [False, True, True, False, True, True, False]
    )
    self.assertEqual(rows.flags("absent"), [False] * 7)
    for bad in ("yes", 2, -1, 0.5, None, [1], float("nan")):
      with self.assertRaisesRegex(ValueError, "Row 1: id is 0 or 1, got"):
        _rows(0, bad).flags("id")

  def test_numbers(self):
    got = _rows(1, 0.5, np.float32(2), -3, 10**20).numbers("id", "what")
    self.assertEqual(got.tolist(), [1, 0.5, 2, -3, 1e20])
    for bad in (float("nan"), -float("inf"), "1", True, None, [1], 10**400):
      with self.assertRaisesRegex(ValueError, "Row 1 has the id .*; what"):
        _rows(0, bad).numbers("id", "what")

  def test_boxes(self):
    good = [[0, 1, 2, 3.5], (0, 0, 0, 0), np.arange(4.0), [-9, -9, 1, 1]]
    self.assertEqual(_rows(*good).boxes("id").shape, (4, 4))
    self.assertEqual(_rows().boxes("id").shape, (0, 4))
    for bad in (
      None, 5, "abcd", [1, 2, 3], [1, 2, 3, 4, 5], [1, 2, "3", 4], [1, 2, True, 4],
      [1, 2, float("nan"), 4], [1, 2, 1e30, 4], [1, 2, -1, 4], [1, 2, None, 4],
      [1, 2, 10**400, 4], [[1, 2], [3, 4]], {"x": 1, "y": 2, "w": 3, "h": 4},
    ):  # fmt: skip
      with self.assertRaisesRegex(
        ValueError, r"Row 1: id \[x, y, w, h\] expected"
      ):
        _rows([0, 0, 1, 1], bad).boxes("id")
    with self.assertRaisesRegex(ValueError, "Row 0: id .* x1 <= x2"):
      _rows([5, 0, 4, 1]).corners("id")

  def test_sizes_and_names(self):
    images = coco_rows.Rows.from_list([{"height": 3, "width": 4}, {}], "Image")
    self.assertEqual(images.sizes(), [(3, 4), None])
    with self.assertRaisesRegex(ValueError, "Image 1: height and width"):
      images.sizes(needed=True)
    with self.assertRaisesRegex(ValueError, "Row 0: id is a text, got 5"):
      _rows(5).names("id")
    with self.assertRaisesRegex(ValueError, "Two row entries have the id 'a'"):
      _rows("a", "a").names("id")

  def test_masks(self):
    mask = rle.encode(np.eye(3, dtype=bool))
    same = [
      {"size": [3, 3], "counts": mask.counts},
      {"size": (3, 3), "counts": mask.counts.encode()},
      {"size": [3, 3], "counts": rle.counts(mask).tolist()},
    ]
    got = _rows(*same).masks([(3, 3)] * 3, polygons=rle.from_polygons, key="id")
    self.assertEqual({m["counts"] for m in got}, {mask.counts})
    polygon = [[0, 0, 3, 0, 3, 3]]
    (drawn,) = _rows(polygon).masks([(3, 3)], polygons=lambda p, _: p, key="id")
    self.assertEqual(drawn, polygon)

  @parameterized.parameters(
    (None, "Row 1 has no id"), ([], "Row 1 has no id"), ({}, "Row 1 has no id"),
    ("abc", "Row 1: id: polygons or .size, counts. expected, got 'abc'"),
    ({"size": [3, 3]}, "compressed string, got None"),
    ({"size": [3, 3], "counts": ""}, "Row 1: id: Broken compressed mask"),
    ({"size": [3, 3], "counts": "8"}, "Row 1: id: .* add up to 9, got 1 runs"),
    ({"size": [3, 3], "counts": b"\xff"}, "Row 1: id: Broken compressed mask"),
    ({"size": [3, 3], "counts": [4]}, "add up to 9"),
    ({"size": [3, 4], "counts": "a2"}, "is .3, 4., the image's .3, 3."),
    ({"size": "ab", "counts": "a2"}, "a mask's size is .height, width."),
    ([[0, 0, 1e9, 0, 5, 5]], "Row 1: id: .* far outside the picture of 3 x 3"),
  )  # fmt: skip
  def test_bad_masks(self, value, message):
    good = {"size": [3, 3], "counts": rle.encode(np.eye(3)).counts}
    with self.assertRaisesRegex(ValueError, message):
      _rows(good, value).masks(
        [(3, 3)] * 2, polygons=rle.from_polygons, key="id"
      )
