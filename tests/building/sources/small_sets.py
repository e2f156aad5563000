"""Every corrupted set's sources in their official layout, made small."""

import importlib
import json
import pathlib
from collections.abc import Callable

import numpy as np
from PIL import Image

from robust_tfds import datasets, movies
from tests import tiny_files
from tests.building.sources import action_layouts


def dummy_data(name: str) -> Callable[[pathlib.Path], pathlib.Path]:
  """The pictures that lie beside a builder for TFDS's own test case."""
  folder = datasets.builder_class(name).code_path.parent / "dummy_data"
  return lambda root: pathlib.Path(folder)


def embedded(root: pathlib.Path) -> pathlib.Path | None:
  """Sets that need no sources."""
  return None


def cifar10(root: pathlib.Path) -> pathlib.Path:
  """Three pictures of the binary version's test batch."""
  return _cifar(root / "cifar-10-batches-bin/test_batch.bin", [[3], [9], [0]])


def cifar100(root: pathlib.Path) -> pathlib.Path:
  """Three pictures of the binary version, with coarse and fine labels."""
  labels = [[3, 70], [9, 99], [0, 20]]
  return _cifar(root / "cifar-100-binary/test.bin", labels)


def _cifar(batch: pathlib.Path, labels: list[list[int]]) -> pathlib.Path:
  planes = np.random.default_rng(0).integers(0, 256, (3, 3072), np.uint8)
  columns = [np.array(labels, np.uint8), planes]
  _put(batch, np.concatenate(columns, 1).tobytes())
  return batch.parents[1]


def tiny_wnids() -> list[str]:
  """Made names of Tiny ImageNet's 200 classes, not sorted."""
  return [f"n{i:08d}" for i in range(200, 0, -1)]


def tiny_imagenet(root: pathlib.Path) -> pathlib.Path:
  """Two validation pictures of two classes: the second and the first."""
  folder = root / "tiny-imagenet-200"
  _put(folder / "wnids.txt", "\n".join(tiny_wnids()) + "\n")
  lines = [f"val_{i}.JPEG\tn0000000{2 - i}\t0\t0\t9\t9\n" for i in range(2)]
  _put(folder / "val" / "val_annotations.txt", "".join(lines))
  for i in range(2):
    _put(folder / "val" / "images" / f"val_{i}.JPEG", _jpeg(i))
  return root


def ucf101(root: pathlib.Path) -> pathlib.Path:
  """Two videos of two classes."""
  classes = action_layouts.class_ind("Archery", "Basketball")
  _put(root / "ucfTrainTestlist/classInd.txt", classes)
  names = [f"{c}/v_{c}_g01_c01.avi" for c in ("Archery", "Basketball")]
  _put(root / "ucfTrainTestlist/testlist01.txt", "\n".join(names) + "\n")
  for i, name in enumerate(names):
    _put(root / "UCF-101" / name, action_layouts.avi(i))
  return root


def ucf101_ds(root: pathlib.Path) -> pathlib.Path:
  """Two clips of two classes under natural shifts."""
  classes = action_layouts.class_ind("Archery", "Billiards")
  _put(root / "ucfTrainTestlist/classInd.txt", classes)
  rows = ["Billiards,a.mp4,1,kids,Age", "Archery,b.webm,2,prank,Behavioral"]
  head = "label,filename,video_id,shift,category"
  _put(root / "ucf101-DS_eval.csv", "\n".join([head, *rows]) + "\n")
  for i, row in enumerate(rows):
    label, file, *_ = row.split(",")
    data = movies.encode(action_layouts.clip(i), fps=24)
    _put(root / "UCF101-DS" / label / file, data)
  return root


def hmdb51(root: pathlib.Path) -> pathlib.Path:
  """One test video of each of two classes."""
  for i, name in enumerate(("brush_hair", "wave")):
    lists = root / "testTrainMulti_7030_splits"
    file = f"A_Film_{name}_f_nm_np1_fr_goo_{i}.avi"
    _put(lists / f"{name}_test_split1.txt", f"{file} 2\n")
    _put(root / "hmdb51_org" / name / file, action_layouts.avi(i))
  return root


def kinetics400(root: pathlib.Path) -> pathlib.Path:
  """Two videos of two classes."""
  _put(
    root / "kinetics400/validate.csv",
    "label,youtube_id,time_start,time_end,split\n"
    "zumba,-abc_def1234,5,15,val\nabseiling,xyz,120,130,val\n",
  )
  data = movies.encode(action_layouts.clip(0), fps=30000 / 1001)
  _put(root / "kinetics400/val/-abc_def1234_000005_000015.mp4", data)
  _put(root / "kinetics400/val/abseiling/xyz_000120_000130.mp4", data)
  return root


def ssv2(root: pathlib.Path) -> pathlib.Path:
  """Two videos of two templates."""
  _put(
    root / "something-something-v2-labels.json",
    action_layouts.ssv2_labels("Closing something", "Opening something"),
  )
  entries = [
    {"id": "7", "label": "opening a box", "template": "Opening [something]"},
    {"id": "9", "label": "closing it", "template": "Closing [something]"},
  ]
  lists = root / "something-something-v2-validation.json"
  _put(lists, json.dumps(entries))
  data = movies.encode(action_layouts.clip(0), fps=12)
  for n in (7, 9):
    _put(root / f"20bn-something-something-v2/{n}.webm", data)
  return root


def cityscapes_seg(root: pathlib.Path) -> pathlib.Path:
  """Two pictures of two cities; ids of all kinds, and the licence plate."""
  for city, seed in (("frankfurt", 0), ("lindau", 1)):
    stem = f"val/{city}/{city}_000000_00000{seed}"
    ids = tiny_files.noise(40, 72, seed)[..., 0] % 34
    ids[0] = 255
    picture = tiny_files.encoded(tiny_files.noise(40, 72, seed))
    _put(root / f"leftImg8bit/{stem}_leftImg8bit.png", picture)
    mask = tiny_files.encoded(ids)
    _put(root / f"gtFine/{stem}_gtFine_labelIds.png", mask)
    _put(root / f"gtFine/{stem}_gtFine_instanceIds.png", mask)
  return root


def ade20k(root: pathlib.Path) -> pathlib.Path:
  """Two pictures of two sizes, with ids 0 to 150."""
  for i, (height, width) in enumerate(((40, 64), (64, 48))):
    stem, place = f"ADE_val_0000000{i + 1}", root / "ADEChallengeData2016"
    ids = tiny_files.noise(height, width, i)[..., 0] % 151
    picture = tiny_files.encoded(tiny_files.noise(height, width, i), "JPEG")
    _put(place / f"images/validation/{stem}.jpg", picture)
    _put(place / f"annotations/validation/{stem}.png", tiny_files.encoded(ids))
  return root


def voc_seg(root: pathlib.Path) -> pathlib.Path:
  """Two pictures; masks with a palette, and borders."""
  place, names = root / "VOCdevkit/VOC2012", ("2007_000033", "2011_003256")
  _put(place / "ImageSets/Segmentation/val.txt", "\n".join(names) + "\n")
  for i, name in enumerate(names):
    ids = tiny_files.noise(45, 60, i)[..., 0] % 21
    ids[:, 0] = 255
    mask = Image.fromarray(ids, "P")
    mask.putpalette(list(range(256)) * 3)
    picture = tiny_files.encoded(tiny_files.noise(45, 60, i), "JPEG")
    _put(place / f"JPEGImages/{name}.jpg", picture)
    _put(place / f"SegmentationClass/{name}.png", tiny_files.encoded(mask))
  return root


# Every data set with corruptions -> its sources below a folder.
MAKERS: dict[str, Callable[[pathlib.Path], pathlib.Path | None]] = {
  "ade20k_c": ade20k,
  "cifar100_c": cifar100,
  "cifar100_p": cifar100,
  "cifar10_c": cifar10,
  "cifar10_c_bar": cifar10,
  "cifar10_p": cifar10,
  "cityscapes_c": dummy_data("cityscapes_c"),
  "cityscapes_seg_c": cityscapes_seg,
  "coco_c": dummy_data("coco_c"),
  "digits_c": embedded,
  "digits_detection_c": embedded,
  "digits_p": embedded,
  "digits_segmentation_c": embedded,
  "digits_video_p": embedded,
  "hmdb51_p": hmdb51,
  "imagenet64_c": dummy_data("imagenet_c"),
  "imagenet64_p": dummy_data("imagenet_c"),
  "imagenet_c": dummy_data("imagenet_c"),
  "imagenet_c_bar": dummy_data("imagenet_c"),
  "imagenet_p": dummy_data("imagenet_c"),
  "kinetics400_p": kinetics400,
  "pascal_c": dummy_data("pascal_c"),
  "signs_c": embedded,
  "signs_p": embedded,
  "ssv2_p": ssv2,
  "tiny_imagenet_c": tiny_imagenet,
  "tiny_imagenet_p": tiny_imagenet,
  "ucf101_p": ucf101,
  "voc_seg_c": voc_seg,
}


def _in_its_test(name: str) -> Callable[[pathlib.Path], pathlib.Path]:
  """Return the maker of a set whose test file has it: `write`."""

  def write(root: pathlib.Path) -> pathlib.Path:
    test = importlib.import_module(f"tests.datasets.{name}_test")
    test.write(root)
    return root

  return write


for _name in datasets.names():
  if _name not in MAKERS and datasets.builder_class(_name).FAMILY:
    MAKERS[_name] = _in_its_test(_name)


def _jpeg(seed: int) -> bytes:
  return tiny_files.encoded(tiny_files.noise(64, 64, seed), "JPEG")


def _put(path: pathlib.Path, data: bytes | str) -> None:
  tiny_files.put(path.parent, {path.name: data})
