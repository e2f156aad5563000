"""Official training data in the layouts as downloaded, made small."""

import json
import pathlib
from unittest import mock

from absl.testing import parameterized

from models.training import data
from robust_tfds import datasets, errors, movies
from robust_tfds.building.sources import imagenet
from robust_tfds.datasets import training
from robust_tfds.datasets.imagenet_vid_robust import metadata
from tests import tiny_files
from tests.building.sources import action_layouts

_DATASETS = pathlib.Path(datasets.__file__).parent
_PICTURE = tiny_files.encoded(tiny_files.noise(40, 60), "JPEG")


def _renamed(dummy: str, old: str, new: str) -> dict[str, bytes]:
  """A benchmark's small layout, with its files under other names."""
  root = _DATASETS / dummy / "dummy_data"
  return {
    path.relative_to(root).as_posix().replace(old, new): path.read_bytes()
    for path in root.rglob("*")
    if path.is_file()
  }


def _voc() -> dict[str, bytes]:
  old = _renamed("pascal_c", "Main/test.txt", "Main/trainval.txt")
  new = {
    name.replace("VOC2007", "VOC2012").replace("/00", "/2008_00"): content
    for name, content in old.items()
  }
  place = "VOCdevkit/VOC2012/ImageSets/Main/trainval.txt"
  new[place] = b"2008_000001\n2008_000002\n"
  return {**old, **new}


def _ucf101() -> dict[str, bytes | str]:
  return {
    "ucfTrainTestlist/classInd.txt": action_layouts.class_ind("Archery", "Bow"),
    "ucfTrainTestlist/trainlist01.txt": "Archery/v_Archery_g08_c01.avi 1\r\n",
    "ucfTrainTestlist/trainlist03.txt": "Bow/v_Bow_g09_c02.avi 2\n",
    "ucfTrainTestlist/testlist01.txt": "Bow/v_Bow_g01_c01.avi\n",
    "UCF-101/Archery/v_Archery_g08_c01.avi": action_layouts.avi(0),
    "UCF-101/Bow/v_Bow_g09_c02.avi": action_layouts.avi(1),
  }


def _hmdb51() -> dict[str, bytes | str]:
  name = "{}_brush_hair_u_nm_np1_ba_goo_0.avi"
  lists = "testTrainMulti_7030_splits/brush_hair_test_split1.txt"
  lines = [f"{name.format(k)} {k}" for k in (0, 1, 2)]
  files = {
    f"hmdb51_org/brush_hair/{name.format(k)}": action_layouts.avi(k)
    for k in (0, 1, 2)
  }
  return {lists: "\n".join(lines), **files}


def _kinetics400() -> dict[str, bytes | str]:
  video = movies.encode(action_layouts.clip(0), fps=25)
  head = "label,youtube_id,time_start,time_end,split\n"
  return {
    "kinetics400/train.csv": f"{head}zumba,a,5,15,train\nzumba,b,5,15,val\n"
    "abseiling,gone,0,10,train\n",
    "kinetics400/train/a_000005_000015.mp4": video,
    "kinetics400/train/b_000005_000015.mp4": video,
  }


def _ssv2() -> dict[str, bytes | str]:
  labels = action_layouts.ssv2_labels("Closing something", "Opening something")
  entry = {"id": "7", "label": "x", "template": "Opening [something]"}
  return {
    "something-something-v2-labels.json": labels,
    "something-something-v2-train.json": json.dumps([entry]),
    "20bn-something-something-v2/7.webm": movies.encode(
      action_layouts.clip(0), fps=12
    ),
  }


def _vid() -> dict[str, bytes | str]:
  """Two videos of one class, one of two, whose second frame has no object."""
  wnids = [c["wnid"] for c in metadata.classes()]
  out = {
    f"ILSVRC/ImageSets/VID/train_{k}.txt": {
      1: "p0/one 1\np0/two 1\np0/both 1\n",
      4: "p0/both 1\n",
    }.get(k, "")
    for k in range(1, 31)
  }
  box = (
    "<object><name>{}</name><bndbox><xmin>1</xmin><xmax>{}</xmax><ymin>1</ymin>"
  )
  box += "<ymax>9</ymax></bndbox></object>"
  both = box.format(wnids[0], 5) + box.format(wnids[3], 9)
  for i, content in enumerate((both, "")):
    place = f"ILSVRC/Annotations/VID/train/p0/both/00000{i}.xml"
    out[place] = f"<annotation>{content}</annotation>"
  for video in ("one", "two", "both"):
    for i in range(2):
      place = f"ILSVRC/Annotations/VID/train/p0/{video}/00000{i}.xml"
      out.setdefault(place, "<annotation></annotation>")
      frame = _PICTURE + f"{video} {i}".encode()  # copies would be one group
      out[f"ILSVRC/Data/VID/train/p0/{video}/00000{i}.JPEG"] = frame
  return out


def _ytbb() -> dict[str, bytes | str]:
  rows = "ytid,time_ms,label\nab-c,4000,0\nab-c,9000,22\n"
  return {
    "ytbb_robustness_train_anchors_full.csv": rows,
    "ytbb_train/ab-c_4000.jpg": _PICTURE,
    "ytbb_train/ab-c_9000.jpg": _PICTURE,
  }


def _ilsvrc30() -> dict[str, bytes]:
  """A picture of each class."""
  wnids = [
    imagenet.wnids()[m] for c in metadata.classes() for m in c["members"]
  ]
  return {f"train/{wnid}/{wnid}_1.JPEG": _PICTURE for wnid in wnids}


# Set -> its files; ids and labels, of objects how many there are.
_CASES = {
  "imagenet_vid_train": (
    _vid,
    {
      "p0/both/000000.JPEG": 3,
      **{f"p0/{v}/00000{i}.JPEG": 0 for v in ("one", "two") for i in (0, 1)},
    },
  ),
  "ilsvrc30_train": (
    _ilsvrc30,
    {
      f"{imagenet.wnids()[m]}/{imagenet.wnids()[m]}_1.JPEG": label
      for label, c in enumerate(metadata.classes())
      for m in c["members"]
    },
  ),
  "imagenet_vid_det_train": (
    _vid,
    {
      f"p0/{v}/00000{i}.JPEG": None
      for v in ("one", "two", "both")
      for i in (0, 1)
    },
  ),
  "ytbb_train": (_ytbb, {"ab-c_4000.jpg": 0, "ab-c_9000.jpg": 23}),
  "ucf101_train": (_ucf101, {"v_Archery_g08_c01.avi": 0}),
  "hmdb51_train": (
    _hmdb51,
    {"brush_hair/1_brush_hair_u_nm_np1_ba_goo_0.avi": 0},
  ),
  "kinetics400_train": (_kinetics400, {"a_000005_000015.mp4": 399}),
  "ssv2_train": (_ssv2, {"7.webm": 1}),
  "coco_train": (
    lambda: _renamed("coco_c", "val2017", "train2017"),
    {"000000000139.jpg": None, "000000000285.jpg": None},
  ),
  "voc0712_train": (
    _voc,
    {f"{y}00000{i}.jpg": None for y in ("", "2008_") for i in (1, 2)},
  ),
  "cityscapes_train": (
    lambda: _renamed("cityscapes_c", "/val/", "/train/"),
    {
      "frankfurt_000001_000294_leftImg8bit.png": None,
      "lindau_000000_000019_leftImg8bit.png": None,
    },
  ),
}


class TrainingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = pathlib.Path(self.create_tempdir().full_path)

  def _open(self, name, **options):
    tiny_files.put(self.root, _CASES[name][0]())
    return data.open(
      data.Config(
        source=name,
        manual_dir=str(self.root),
        data_dir=f"{self.root}/data",
        **options,
      )
    )

  def test_every_row_is_tested(self):
    self.assertEqual(set(training.ROWS), set(_CASES))

  @parameterized.parameters(*_CASES)
  def test_official_lists(self, name):
    options = {"canvas": (1024, 2048), "boxes": 20, "frames": 2}
    source = self._open(name, **options)
    wanted = _CASES[name][1]
    self.assertEqual(source.ids(), sorted(wanted))
    classes = datasets.classes(training.ROWS[name].of)
    self.assertLen(source.classes, classes)
    (batch,) = source.batches(batch_size=len(wanted), seed=0, epoch=0)
    if source.kind == "objects":
      self.assertTrue((batch["labels"] >= 0).any())
      return
    self.assertEqual(dict(zip(batch["id"], batch["label"])), wanted)

  @parameterized.parameters("ucf101_train", "cityscapes_train", "ytbb_train")
  def test_is_built_as_any_other_set(self, name):
    tiny_files.put(self.root, _CASES[name][0]())
    built = datasets.prepare(
      name, data_dir=f"{self.root}/data", manual_dir=self.root
    )
    count = built.info.splits["train"].num_examples
    self.assertEqual(count, len(_CASES[name][1]))

  def test_a_class_without_pictures(self):
    files = _ilsvrc30()
    del files["train/n02690373/n02690373_1.JPEG"]  # not the group's own wnid
    tiny_files.put(self.root, files)
    with self.assertRaisesRegex(FileNotFoundError, "No picture in .*n02690373"):
      training.ROWS["ilsvrc30_train"].listed(self.root)

  def test_boxes_of_frames(self):
    """Those of the file, (xmin, ymin, xmax, ymax); a frame without has none."""
    options = {"canvas": (64, 64), "boxes": 3}
    source = self._open("imagenet_vid_det_train", **options)
    (batch,) = source.batches(batch_size=6, seed=0, epoch=0)
    rows = dict(zip(batch["id"], zip(batch["boxes"], batch["labels"])))
    boxes, labels = rows["p0/both/000000.JPEG"]
    self.assertEqual(labels.tolist(), [0, 3, -1])
    self.assertEqual(boxes[:2].tolist(), [[1, 1, 5, 9], [1, 1, 9, 9]])
    self.assertEqual(rows["p0/one/000001.JPEG"][1].tolist(), [-1] * 3)

  def test_frames_of_a_video_are_not_parted(self):
    source = self._open("imagenet_vid_train", validation=0.5)
    parts = [
      {i.rpartition("/")[0] for i in source.ids(split)}
      for split in ("train", "validation")
    ]
    self.assertEmpty(parts[0] & parts[1])

  def test_other_official_splits(self):
    source = self._open("ucf101_train", split="train_3", frames=2)
    self.assertEqual(source.ids(), ["v_Bow_g09_c02.avi"])

  @parameterized.parameters((), ("ucf101_p",))
  def test_what_another_split_tests(self, *judged_on):
    """`train_3` has a video that `test` tests; each is held against its own."""
    bow = "Bow/v_Bow_g09_c02.avi\n"
    lists = {"ucfTrainTestlist/testlist01.txt": bow}
    lists["ucfTrainTestlist/testlist03.txt"] = "Archery/v_Archery_g08_c01.avi\n"
    files = {**_ucf101(), **lists}
    with mock.patch.dict(_CASES, ucf101_train=(lambda: files, {})):
      options = {"frames": 2, "judged_on": judged_on}
      source = self._open("ucf101_train", split="train_3", **options)
      self.assertEqual(source.ids(), ["v_Bow_g09_c02.avi"])
      leaked = files["UCF-101/Bow/v_Bow_g09_c02.avi"]
      files["UCF-101/Archery/v_Archery_g08_c01.avi"] = leaked
      with self.assertRaisesRegex(
        errors.UserError, "^v_Bow_g09_c02.avi: .* test set: ucf101_p"
      ):
        self._open("ucf101_train", split="train_3", **options)

  @parameterized.parameters("coco", "cityscapes")
  def test_pictures_of_the_benchmark_in_the_same_folder(self, name):
    """Refused without being asked for, as the files are the same here."""
    tiny_files.put(self.root, _renamed(f"{name}_c", "", ""))
    with self.assertRaisesRegex(errors.UserError, f"test set: {name}_c"):
      self._open(f"{name}_train", canvas=(1024, 2048), boxes=20)

  @parameterized.parameters(*_CASES)
  def test_what_is_not_here_is_said(self, name):
    with self.assertRaisesRegex(errors.UserError, f"{name}: its files"):
      data.open(data.Config(source=name, manual_dir=str(self.root)))

  def test_no_benchmark_has_a_split_to_train_on(self):
    for name in datasets.names():
      made = datasets.builder_class(name)
      if made.FAMILY is not None:
        self.assertNotIn("train", made.splits(), name)
