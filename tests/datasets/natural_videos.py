"""Small ImageNet-Vid-Robust and YTBB-Robust folders in the published layouts."""

import json
import pathlib
import tempfile
from collections.abc import Callable

import numpy as np
import tensorflow_datasets as tfds
from PIL import Image

from robust_tfds import datasets
from tests import in_folder

PUBLISHED = "imagenet_vid_ytbb_robust"
NUMBER = 12  # of each anchor
SIZE = (48, 40)  # width, height


def picture(path: pathlib.Path, level: int) -> None:
  path.parent.mkdir(parents=True, exist_ok=True)
  pixels = np.full((SIZE[1], SIZE[0], 3), level, np.uint8)
  pixels[:, : level % SIZE[0]] = 255 - level
  Image.fromarray(pixels).save(path, "JPEG")


def vid(
  root: pathlib.Path, *, frames: str = f"{PUBLISHED}/imagenet-vid-robust"
) -> None:
  """Two anchors of 21 frames each; `b` has an empty reviewed set."""
  pmsets: dict[str, list[str]] = {}
  labels: dict[str, list[int]] = {}
  for video, label in (("a", 4), ("b", 8)):
    for n in range(NUMBER - 10, NUMBER + 11):
      picture(root / frames / path(video, n), 10 * n)
    labels[path(video, NUMBER)] = [label]
    pmsets[path(video, NUMBER)] = []
  for n in (3, 11, 13, 22):
    pmsets[path("a", NUMBER)].append(path("a", n))
    labels[path("a", n)] = [4, 8] if n == 3 else [4]
  folder = root / PUBLISHED / "imagenet-vid-robust" / "metadata"
  write(folder / "pmsets.json", pmsets)
  write(folder / "labels.json", labels)


def path(video: str, number: int) -> str:
  return f"val/ILSVRC2015_val_{video}/{number:06d}.JPEG"


def annotation(file: pathlib.Path, wnid: str, box: dict[str, int]) -> None:
  """One object of a 48 x 40 frame, as ILSVRC VID's XML has it."""
  sides = "".join(f"<{k}>{v}</{k}>" for k, v in box.items())
  file.parent.mkdir(parents=True, exist_ok=True)
  file.write_text(
    f"<annotation><size><width>{SIZE[0]}</width><height>{SIZE[1]}</height>"
    f"</size><object><trackid>0</trackid><name>{wnid}</name><bndbox>{sides}"
    "</bndbox><occluded>0</occluded><generated>0</generated></object>"
    "</annotation>"
  )


def ytbb(root: pathlib.Path) -> None:
  """Three anchors: `one` reviewed with three neighbours, `two` bad, `-3_x` lone."""
  folder = root / PUBLISHED / "ytbb-robust"
  keys = {
    n: f"{n}_{ms}/frame-{NUMBER}.jpg"
    for n, ms in (("one", 400), ("two", 800), ("-3_x", 12))
  }
  for key in keys.values():
    for i in range(NUMBER - 10, NUMBER + 11):
      file = key.replace(f"-{NUMBER}.", f"-{i}.")
      picture(folder / "ytbb_videos" / file, 10 * i)
  names = [c["name"] for c in _ytbb_classes()]
  annotations = [
    {"key": keys["one"], "labels": [2], "notes": ""},
    {"key": f"/data/{keys['one']}", "labels": [0, 3 + 19], "notes": ""},
    {"key": keys["two"], "labels": [2], "notes": ""},
    {"key": keys["-3_x"], "labels": [0], "notes": ""},
  ]
  write(
    folder / "metadata" / "anchor_labels.json",
    {"labels": ["good", "unsure", "bad", *names], "annotations": annotations},
  )
  one = keys["one"]
  pairs = [
    (f"{one},{one.replace('-12.', '-2.')}", [0]),
    (f"{one},{one.replace('-12.', '-11.')}", [0]),
    (f"{one},{one.replace('-12.', '-13.')}", [0]),
    (f"{one},{one.replace('-12.', '-14.')}", [0, 9]),
    (f"{one},/data/{one.replace('-12.', '-15.')}", [0]),
    (f"{one},{one.replace('-12.', '-16.')}", [0]),
    (f"{one},{one.replace('-12.', '-16.')}", [1]),
  ]
  write(
    folder / "metadata" / "pmk_labels.json",
    {
      "labels": [
        "similar",
        "dissimilar",
        "correct",
        "incorrect",
        "problematic",
        "dont know",
        "deformation",
        "background-change",
        "occlusion-increased",
        "blur-increase",
        "bad-anchor",
      ],
      "annotations": [{"key": k, "labels": v, "notes": ""} for k, v in pairs],
    },
  )
  rows = ["ytid,time_ms,label", "one,400,7", "two,800,22", "-3_x,12,0"]
  file = folder / "metadata" / "ytbb_robustness_test_anchors_full.csv"
  file.write_text("\n".join([*rows, ""]))
  file.with_name("yt_bb_detection_validation.csv").write_text(
    "one,400,19,dog,0,present,0.1,0.5,0.2,0.9\n"
    "one,400,19,dog,1,absent,-1,-1,-1,-1\n"
  )


def _ytbb_classes() -> list[dict]:
  from robust_tfds.datasets.ytbb_robust import metadata

  return metadata.classes()


def write(file: pathlib.Path, content: object) -> None:
  file.parent.mkdir(parents=True, exist_ok=True)
  file.write_text(json.dumps(content))


class MadeFolder:
  SKIP_TF1_GRAPH_MODE = True
  MAKE: Callable[[pathlib.Path], None] = staticmethod(vid)

  @classmethod
  def setUpClass(cls):
    cls._folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls._folder.cleanup)
    cls.MAKE(pathlib.Path(cls._folder.name))
    cls.EXAMPLE_DIR = cls._folder.name
    super().setUpClass()


class Prepared(in_folder.TestCase):
  """One data set, prepared from `root`."""

  NAME = ""

  def setUp(self):
    super().setUp()
    self.data = self.create_tempdir().full_path

  def prepare(self, config="", **options):
    return datasets.prepare(
      self.NAME, config, data_dir=self.data, manual_dir=self.root, **options
    )

  def examples(self, config="", **options):
    builder = self.prepare(config, **options)
    rows = tfds.as_numpy(builder.as_dataset(split="test"))
    return {r["example_id"].decode(): r for r in rows}
