"""The examples of a training set, read one at a time and in any order.

A set is either prepared by TFDS in ArrayRecord files (`Records`), or a list of
sources that say where an example is stored (`Listed`): folders, the benchmarks'
sources, and copies out of a set in TFRecord files. Ids, classes and places are
held in memory, and the first decoded examples, as far as they fit `HELD_BYTES`:
small sets are decoded once, large ones stream.
"""

import abc
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from models.training.data.config import FOLDERS, JUDGED, Config
from robust_tfds import datasets, errors, missing, strings, user_data
from robust_tfds.building import (
  file_formats,
  frames,
  geometry,
  masks,
  objects,
  pictures,
  source,
  videos,
)
from robust_tfds.coco import rle
from robust_tfds.datasets import training
from robust_tfds.reading import mask_files
from robust_tfds.reading import pictures as picture_files
from robust_tfds.reading import videos as video_files
from robust_tfds.storage import paths
from robust_tfds.user_data import copied_set, folder, tfds_set

HELD_BYTES = 128 << 20
_MOST_FRAMES = 256 << 20  # bytes of a video that is decoded at once
PICTURES, VIDEOS, OBJECTS = "pictures", "videos", "objects"
MASKS = "masks"


class Examples(abc.ABC):
  """A split's examples, sorted by their ids.

  Attributes:
    name: name of the set, part of every key; not a path.
    classes: names in label order.
    kind: `pictures`, `videos`, `objects` or `masks`.
    ids: unique and stable ids.
    groups: origin of each example (a video, a film); a group is never split.
    words: description of the source, for the screen.
    largest: maximum height and width in px, and number of objects; None if
      unknown.
    labels: lines that change with labels that the stored bytes do not have.
  """

  _LISTS: ClassVar[Sequence[str]] = ()  # attributes that `decode` does not need

  name: str
  classes: Sequence[str]
  kind: str
  ids: Sequence[str]
  groups: Sequence[str]
  words: str
  largest: tuple[int, int, int] | None = None
  labels: Sequence[str] = ()

  def __init__(self, name: str, classes: Sequence[str], words: str):
    """Name the set; nothing is decoded yet."""
    self.name, self.classes, self.words = name, classes, words
    self._held: dict[int, dict[str, Any]] = {}
    self._left = HELD_BYTES

  def stored(self, number: int) -> bytes:
    """Return an example's picture or video as stored in its file.

    The result is empty if it has none.
    """
    return self.stored_at(self.place(number))

  @abc.abstractmethod
  def stored_at(self, place: Any) -> bytes:
    """Return what `stored` returns of the example that lies there."""

  @abc.abstractmethod
  def files(self) -> Sequence[str]:
    """Return the files in which the examples are stored."""

  def size(self, number: int) -> tuple[int, int]:
    """Return height and width of an example's picture, reading only its header.

    Raises:
      UserError: it is not a picture; the message names it.
    """
    return picture_files.size(
      self.stored(number), self.ids[number], ignore_orientation=True
    )

  def read(self, number: int) -> dict[str, Any]:
    """Return an example: `image` with `label`, `objects` or `class_map`, or a video.

    A class map is uint8 `[H, W]`, 255 where a pixel does not count.

    A video example has `video`, `fps` and `label`. A video is uint8 `[T, H, W,
    3]`; a long one is the bytes of its file.

    Raises:
      UserError: it cannot be decoded; the message names it.
    """
    if number in self._held:
      return self._held[number]
    row = self.decode(self.place(number))
    self._left -= max(getattr(v, "nbytes", 0) for v in row.values())
    if self._left >= 0:
      self._held[number] = row
    return row

  def __getstate__(self) -> dict[str, Any]:
    """Return what `decode` needs in another process."""
    lists = dict.fromkeys(("ids", "groups", *self._LISTS), ())
    return {**self.__dict__, **lists, "_held": {}}

  @abc.abstractmethod
  def place(self, number: int) -> Any:
    """Return where an example lies, for `decode` in any process."""

  @abc.abstractmethod
  def decode(self, place: Any) -> dict[str, Any]:
    """Decode the example that lies there, see `read`."""


class Listed(Examples):
  """Examples that are listed as sources, as the builders have them."""

  _LISTS = ("_sources", "_owner", "_files")

  def __init__(
    self,
    name: str,
    classes: Sequence[str],
    words: str,
    sources: Sequence[Any],
    owner: Any = None,
    files: Sequence[str] = (),
  ):
    """Sort the sources; none is read.

    Args:
      owner: object that owns the files: they are removed with it.
      files: the files that the sources' bytes were copied from; else the
        sources' own.
    """
    super().__init__(name, classes, words)
    self._owner, self._files = owner, files
    self._sources = sorted(sources, key=lambda each: each.example_id)
    self.kind = _kind(self._sources[0])
    self.ids = [each.example_id for each in self._sources]
    self.groups = [
      getattr(each, "group_id", "") or each.example_id for each in self._sources
    ]

  def stored_at(self, place: Any) -> bytes:
    """Return the bytes of an example's first file, its picture or video."""
    each = place
    file = each.file if self.kind == VIDEOS else next(each.files(), None)
    return file.data() if file else b""

  def size(self, number: int) -> tuple[int, int]:
    """Return height and width of an example's picture."""
    picture, data = self._sources[number].picture, self.stored(number)
    if not data or not isinstance(picture, source.Picture) or picture.rule:
      height, width, _ = self.read(number)["image"].shape
      return height, width
    turns = picture.upright
    return picture_files.size(
      data, self.ids[number], ignore_orientation=not turns
    )

  def files(self) -> Sequence[str]:
    """Return the files in which the examples are stored."""
    if self._files:
      return self._files
    return sorted({f.path for each in self._sources for f in each.files()})

  def place(self, number: int) -> Any:
    """Return an example's source."""
    return self._sources[number]

  def decode(self, place: Any) -> dict[str, Any]:
    """Decode the example of a source."""
    each = place
    if self.kind == VIDEOS:
      data = each.file.data()
      with errors.prefixed(each.example_id):
        fps = each.fps or video_files.frame_rate(data)
        return {"video": _frames(data), "fps": fps, "label": each.label}
    if self.kind == MASKS:
      image, class_map = each.read()
      return {"image": image, "class_map": class_map}
    image = each.picture.read()
    if self.kind == PICTURES:
      return {"image": image, "label": each.label}
    known = each.annotation.objects_in(image.shape[:2])
    return {
      "image": image,
      "objects": objects.validated(known, image.shape[:2], each.example_id),
    }


class Records(Examples):
  """Examples of a set that TFDS prepared.

  Ids are stored in the records, which are scanned once when a set is opened;
  pictures and videos are left encoded. Encoded examples of TFRecord files,
  which cannot be read by number (sets of ours in buckets), are held in memory.
  """

  _LISTS = ("_numbers", "_files")

  def __init__(
    self,
    name: str,
    builder: Any,
    split: str,
    *,
    image: str = "image",
    label: str = "label",
  ):
    """Scan the split for its ids.

    Args:
      builder: builder of the prepared set.
      split: the split, or a part of it.
      image: the feature of the picture or video.
      label: the feature of the class.
    """
    features = builder.info.features
    words = f"{builder.data_path} ({split})"
    super().__init__(name, _classes(features, label), words)
    self._image, self._label = image, label
    self.kind = VIDEOS if "video" in features else PICTURES
    self.kind = OBJECTS if "objects" in features else self.kind
    self.kind = MASKS if "mask" in features else self.kind
    self._shape = features[image].shape
    self._files = _record_files(builder, split)
    stored = file_formats.skipping([image, *["mask"] * (self.kind == MASKS)])
    if file_formats.is_array_record(builder):
      self._read, count = file_formats.random_access(builder, split, stored)
    else:
      held = [*file_formats.rows(builder, split, stored)]
      self._read, count = held.__getitem__, len(held)
    rows = [self._held_fields(self._read(number)) for number in range(count)]
    ids = copied_set.ids_of(rows, split.partition("[")[0])
    self._numbers = sorted(range(count), key=ids.__getitem__)
    self.ids = [ids[i] for i in self._numbers]
    self.groups = [rows[i].get("group_id") or ids[i] for i in self._numbers]
    if self.kind == OBJECTS:
      height, width, most = np.max([row["largest"] for row in rows], axis=0)
      self.largest = int(height), int(width), int(most)

  def size(self, number: int) -> tuple[int, int]:
    """Return height and width of a picture.

    For sets of one size nothing is read.
    """
    height, width, _ = self._shape
    return (height, width) if height and width else super().size(number)

  def stored_at(self, place: tuple[int, str]) -> bytes:
    """Return an example's picture or video as stored."""
    stored: bytes = self._read(place[0])[self._image]
    return stored

  def files(self) -> Sequence[str]:
    """Return the files in which the examples are stored."""
    return self._files

  def place(self, number: int) -> tuple[int, str]:
    """Return an example's number in the files, and its id."""
    return self._numbers[number], self.ids[number]

  def decode(self, place: tuple[int, str]) -> dict[str, Any]:
    """Decode the example of a number in the files."""
    number, name = place
    row, where = self._read(number), f"{self.words}: {name}"
    if self.kind == VIDEOS:
      with errors.prefixed(where):
        video = _frames(row[self._image])
      label = self._class(row, where)
      return {"video": video, "fps": float(row["fps"]), "label": label}
    image = geometry.decode(row[self._image], "whole", where)
    if self.kind == MASKS:
      return {"image": image, "class_map": mask_files.ids(row["mask"], where)}
    if self.kind == PICTURES:
      return {"image": image, "label": self._class(row, where)}
    return {"image": image, "objects": list(_objects(row["objects"]))}

  def _class(self, row: dict[str, Any], where: str) -> int:
    label = int(row[self._label])
    if not 0 <= label < len(self.classes):
      raise errors.UserError(
        f"{where} has the label {label}, expected 0 to {len(self.classes) - 1}. A"
        " split without labels teaches nothing."
      )
    return label

  def _held_fields(self, row: dict[str, Any]) -> dict[str, Any]:
    """Return what is held of an example: its ids, its group and its size."""
    names = (*copied_set.IDS, "group_id")
    out: dict[str, Any] = {n: strings.text(row[n]) for n in names if n in row}
    if self.kind == OBJECTS:
      out["largest"] = (*row["size"], len(row["objects"]["id"]))
    return out


def _kind(each: Any) -> str:
  kinds = {
    pictures.Source: PICTURES,
    videos.Source: VIDEOS,
    objects.Source: OBJECTS,
    masks.Source: MASKS,
  }
  return kinds[type(each)]


def _record_files(builder: Any, split: str) -> Sequence[str]:
  """Return the files of a prepared set's split, or of a part of it."""
  names = dict.fromkeys(tfds_set.split_names(split))
  files = (f for n in names for f in builder.info.splits[n].filepaths)
  return sorted(map(os.fspath, files))


def _classes(features: Any, label: str) -> Sequence[str]:
  if "mask" in features:
    return list(features["classes"].feature.names)
  feature = features["objects"].feature if "objects" in features else features
  return list(feature[label].names)


def _frames(data: bytes) -> Any:
  """Decode a video to its frames, or return the bytes of a long one."""
  held, size = [], 0
  for frame in video_files.iterate(data):
    held.append(frame)
    size += frame.nbytes
    if size > _MOST_FRAMES:
      return data
  return np.stack(held)


def _objects(rows: dict[str, Any]) -> Iterator[objects.Object]:
  """Yield the objects of a stored example."""
  boxes = np.reshape(rows["bbox_px"], (-1, 4)).tolist()
  masks = rows.get("mask")
  for i, box in enumerate(boxes):
    yield objects.Object(
      id=int(rows["id"][i]),
      label=int(rows["label"][i]),
      box=tuple(box),
      area=float(rows["area"][i]),
      is_crowd=bool(rows["is_crowd"][i]),
      is_difficult=bool(rows["is_difficult"][i])
      if "is_difficult" in rows
      else False,
      mask=_mask(masks["counts"][i], masks["size"][i]) if masks else None,
    )


def _mask(counts: Any, size: Any) -> rle.Mask:
  height, width = map(int, size)
  return rle.Mask(strings.text(counts), (height, width))


def find(
  config: Config,
  say: Callable[[str], None] | None = None,
  split: str = "",
) -> Examples:
  """Return the examples that a config names.

  Args:
    config: the config of the data; TFDS prepares its source if necessary.
    say: receives lines of progress; None: TFDS shows its own.
    split: another split than the config's, whose labels are not checked.

  Raises:
    UserError: the source or split is unknown.
  """
  unlabelled, split = bool(split), split or config.split
  kind, _, place = config.source.partition(":")
  if kind == "folder" and place:
    return _folder_examples(place)
  if kind == "masks" and place:
    return _masked_examples(config)
  if kind == "tfds" and place:
    return _tfds_examples(place, config, split, unlabelled)
  return _builder_examples(config, split, say)


def _official_examples(config: Config, split: str) -> Examples:
  """Return the examples of official training data, from the original files."""
  builder = datasets.builder(config.source, data_dir=config.data_dir or None)
  by_split = builder.clean_sources(config.manual_dir or None)
  if split not in by_split:
    raise errors.unknown_error(f"split of {config.source}", split, by_split)
  classes = _classes(builder.info.features, "label")
  where = f"{config.source} in {config.manual_dir}"
  return Listed(config.source, classes, where, by_split[split])


def test_examples(config: Config) -> Iterator[Examples]:
  """Yield the test examples of the set that a config names, if it has any.

  A set's `test` split is taken, else its `validation`; both if its benchmarks
  are made from the latter. A folder's are the pictures in sibling folders
  `test`, `val` and the like; for official training data they are the
  benchmark's examples, if they are in the same manual dir.
  """
  kind, _, place = config.source.partition(":")
  if kind in FOLDERS:
    yield from _sibling_examples(place, "images" if kind == "masks" else "")
    return
  if kind in training.ROWS:
    yield from _benchmark_tests(config)
    return
  if kind == "tfds":
    builder = tfds_set.builder_of(place, config.data_dir)
  else:
    builder = datasets.builder(config.source, data_dir=config.data_dir or None)
  there = builder.info.splits
  usual = [split for split in ("test", "validation") if split in there]
  for split in usual if builder.name in JUDGED else usual[:1]:
    yield find(config, split=split)


def _sibling_examples(place: str, part: str) -> Iterator[Examples]:
  """Yield the pictures of a folder's held-out siblings: `X/test` for `X/mine`.

  Args:
    place: the folder.
    part: the folder in a sibling that has the pictures, where there is one.
  """
  parents = [paths.resolved(place).parent]
  if paths.is_local(place):  # a link lies elsewhere than where it leads
    written = os.path.dirname(os.path.abspath(paths.parse(place)))
    parents.append(paths.resolved(written))
  for parent in dict.fromkeys(parents):
    for entry in paths.folders(parent):
      if folder.is_held_out(entry.name):
        words = (
          f"{entry.name} beside it is by its name what models are judged on"
        )
        with errors.prefixed(f"config.data.source: {words}"):
          pictures_at = os.path.join(entry.path, part)
          inside = paths.parse(pictures_at).is_dir()
          read = _picture_examples(pictures_at if inside else entry.path)
        if read:
          yield read


def _picture_examples(place: str) -> Examples | None:
  """Return the pictures of a folder and its subfolders; None if there are none."""
  files = folder.files(paths.resolved(paths.parse(place)), place)[0]
  listed = [source.File(i, path, label=0) for i, path in files.items()]
  sources = pictures.sources_from_files(listed, **folder.Folder.reading)
  name = os.path.basename(place.rstrip("/"))
  return Listed(name, (), place, sources) if listed else None


def _benchmark_tests(config: Config) -> Iterator[Examples]:
  name = training.ROWS[config.source].of
  if name in config.judged_on:
    return
  try:
    read = benchmark_examples(name, config)
  except missing.MissingError:
    return
  if all(paths.exist(read.files())):
    yield read


def benchmark_examples(name: str, config: Config) -> Examples:
  """Return the clean examples that a benchmark's conditions are made from.

  For the benchmark of official training data these are the examples of the test
  split that belongs to the config's training split: an example of `train` may
  be in `test_2`.

  Raises:
    MissingError: they are not there.
    UserError: the benchmark is unknown.
  """
  options = user_data.Options(
    data_dir=config.data_dir, manual_dir=config.manual_dir
  )
  kind = datasets.builder_class(name, options)
  builder = datasets.builder(kind, data_dir=config.data_dir or None)
  by_split = builder.clean_sources(config.manual_dir)
  row, split = training.ROWS.get(config.source), ""
  if row and row.of == name:
    split = training.tested(config.source, config.split)
    by_split = {split: by_split.get(split, ())}
  tested = {k: v for k, v in by_split.items() if k != training.TRAIN}
  by_split = tested or by_split
  sources = [_picture(s) for part in by_split.values() for s in part]
  if not sources:
    fault = f"Looked for its split {split} in {config.manual_dir}."
    get = "put the list of that split there, as the set's README says."
    raise missing.MissingError(missing.Lack(name, fault, get=get))
  where = name.partition(":")[2] or config.manual_dir or "in the package"
  return Listed(name, (), where, sources)


def _picture(each: Any) -> Any:
  """Return a frame of a video as a picture; other sources as they are."""
  if not isinstance(each, frames.Frame):
    return each
  file: Any = each.picture
  return pictures.Source(each.example_id, 0, source.Picture(file))


def _folder_examples(place: str) -> Examples:
  set_ = folder.Folder.from_place(place, user_data.NO_OPTIONS)
  sources = pictures.sources_from_files(set_.files(), **set_.reading)
  return Listed(set_.name, set_.classes, set_.where, sources)


def _masked_examples(config: Config) -> Examples:
  set_: Any = user_data.builder_class(config.source, config.options)
  own = set_.OWN
  read = Listed(own.name, own.classes, own.where, own.sources)
  read.labels = own.described()
  return read


def _tfds_examples(
  place: str, config: Config, split: str, unlabelled: bool
) -> Examples:
  builder = tfds_set.builder_of(place, config.data_dir)
  options = user_data.Options(split=split)
  set_ = tfds_set.TfdsSet(builder, options, config.source)
  set_.unlabelled = unlabelled
  set_.prepare()
  if not file_formats.is_array_record(builder):
    sources = pictures.sources_from_files(set_.files(), **set_.reading)
    files = _record_files(builder, set_.part)
    return Listed(set_.name, set_.classes, set_.notes[-1], sources, set_, files)
  return Records(
    set_.name,
    builder,
    set_.part,
    image=set_.image,
    label=set_.label,
  )


def check_name(name: str) -> None:
  """Refuse an unknown set, or one of this package that nothing is trained on.

  Raises:
    UserError: the set is refused; the message lists the sets to train on.
  """
  trainable = [
    each
    for each in datasets.names()
    if "train" in datasets.builder_class(each).splits()
  ]
  if name not in (*trainable, *training.ROWS):
    known = [
      "folder:PATH",
      "masks:PATH",
      "tfds:NAME",
      *trainable,
      *training.ROWS,
    ]
    raise errors.unknown_error("set to train on", name, known)


def _builder_examples(config: Config, split: str, say: Any) -> Examples:
  """Return the examples of a set of this package that has a split to train on."""
  name = config.source
  if name in training.ROWS:
    return _official_examples(config, split)
  check_name(name)
  builder = datasets.prepare(
    name,
    data_dir=config.data_dir or None,
    manual_dir=config.manual_dir or None,
    say=say,
  )
  tfds_set.check_split(builder, split, name)
  image = "video" if "video" in builder.info.features else "image"
  return Records(name, builder, split, image=image)
