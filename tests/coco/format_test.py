"""From the official JSON through a prepared dataset and back: equal numbers."""

import contextlib
import io
import json
import pathlib

import numpy as np
import tensorflow_datasets as tfds
from absl.testing import parameterized

from robust_tfds import datasets
from robust_tfds.building.sources import coco
from robust_tfds.coco import format as coco_format
from robust_tfds.coco import rle
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
