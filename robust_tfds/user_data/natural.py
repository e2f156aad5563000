"""Natural sets (`natural_sets`): by TFDS's builders, from folders, ObjectNet from its.

A set's classes are the only possible answers: the outputs of an ImageNet model for
other classes are left out. COCO-O is read as any COCO file.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from robust_tfds import errors, natural_sets
from robust_tfds.building import base, own_set, source
from robust_tfds.building.sources import folders, imagenet, known_files
from robust_tfds.reading import json_file, line_list
from robust_tfds.storage import paths
from robust_tfds.user_data import (
  coco,
  labelled,
  natural_folders,
  natural_parquet,
  tfds_set,
)

_OBJECTNET = "objectnet-1.0"  # the archive's folder
_INSTRUCTIONS = f"""\
The archive {_OBJECTNET}.zip of https://objectnet.dev is encrypted, and not read
itself. Unpack it in the manual dir, with the password of its download page:
  unzip -P PASSWORD {_OBJECTNET}.zip"""
# Of a domain of COCO-O: benchmarks/coco_o/README.md of alibaba/easyrobust.
_COCO_FILE, _COCO_PICTURES = "annotations/instances_val2017.json", "val2017"
# Layout of a folder -> the class of its sets, and what to put into the manual dir.
_LAYOUTS: Mapping[str, tuple[Any, Any]] = {
  natural_sets.FOLDER: (natural_folders.Folders, natural_folders.instructions),
  natural_sets.PARQUET: (natural_parquet.Parquet, natural_parquet.instructions),
}
_BORDER_PX = 1  # red, around every picture of ObjectNet: its README
# ObjectNet's tables: folder -> its name; name -> names in ImageNet; model's output ->
# line of a name in `_LINES`.
_TABLES = (
  "folder_to_objectnet_label.json",
  "objectnet_to_imagenet_1k.json",
  "pytorch_to_imagenet_2012_id.json",
)
_LINES = "imagenet_to_label_2012_v2"


class Natural(tfds_set.TfdsSet):
  """A set of TFDS whose classes are ImageNet's."""

  conditions = "none"

  def __init__(self, text: str, options: own_set.Options):
    """Create the set. If only occurring classes count, all labels are read.

    Raises:
      UserError: the set is not prepared here, or has another version or other
        classes.
    """
    row, config = natural_sets.parse(text)
    name = "/".join(filter(None, (row.source, config)))
    builder = tfds_set.builder_of(name, options.data_dir)
    _check_version(builder, text)
    named = dataclasses.replace(options, name=natural_sets.set_name(text))
    super().__init__(builder, named, text, row.labels)
    self.kind = _kind(text)
    if self.classes != tuple(imagenet.wnids()):
      raise errors.UserError(
        f"{text}: {builder.info.full_name} has {len(self.classes)} classes, the"
        f" first {self.classes[0]!r}; expected ImageNet's 1,000 wnids in order."
      )
    self.members: Sequence[Sequence[int]] = [[i] for i in range(1000)]
    if row.classes == natural_sets.OCCURRING:
      self._keep_occurring()
    self.notes = [*self.notes, f"terms: {row.terms}"]

  def _keep_occurring(self) -> None:
    files = self.files()
    there = sorted({file.label for file in files if file.label is not None})
    place = {label: i for i, label in enumerate(there)}
    self._files = [
      dataclasses.replace(f, label=place[f.label or 0]) for f in files
    ]
    self.members = [[label] for label in there]
    self.classes = tuple(self.classes[label] for label in there)


class ObjectNet(own_set.OwnSet):
  """The archive's folder: pictures of the classes that ImageNet has too."""

  conditions = "none"
  reading = {"border_px": _BORDER_PX}

  def __init__(self, text: str, options: own_set.Options):
    """Read the tables and list the pictures.

    Raises:
      FileNotFoundError: there is no folder; says what to put there.
      UserError: a table is missing or broken, or a class has no picture.
    """
    there = folders.find(
      _manual(options.manual_dir, text),
      _OBJECTNET,
      (),
      instructions=_INSTRUCTIONS,
    )
    outputs = _outputs(there)
    names = [name for name, _ in outputs.values()]
    notes = [f"terms: {natural_sets.parse(text)[0].terms}"]
    super().__init__(natural_sets.set_name(text), text, names, notes=notes)
    self.kind = _kind(text)
    self.members = [members for _, members in outputs.values()]
    label_of = {folder: label for label, folder in enumerate(outputs)}
    self._files = []
    for path, file in there.items():
      start, _, below = path.partition("/")
      label = label_of.get(below.partition("/")[0])
      if start == "images" and below.endswith(".png") and label is not None:
        self._files.append(dataclasses.replace(file, name=below, label=label))
    full = {file.label for file in self._files}
    for folder, label in label_of.items():
      if label not in full:
        raise errors.UserError(
          f"{_OBJECTNET}/images/{folder}: no picture. Unpack the whole archive."
        )

  def files(self) -> Sequence[source.File]:
    """Return the pictures of the classes that ImageNet has too."""
    return self._files

  def described(self) -> Sequence[str]:
    """Return the width of the border, which decides what models see."""
    return [f"border {_BORDER_PX}"]


class Reference(own_set.OwnSet):
  """ImageNet's validation pictures of a natural set's classes."""

  conditions = "none"

  def __init__(self, text: str, natural_set: Any, options: own_set.Options):
    """List the pictures.

    Args:
      text: `NAME/reference`.
      natural_set: the set that it is the reference of.
      options: its `manual_dir` has the pictures.
    """
    super().__init__(
      natural_sets.set_name(text), text, natural_set.classes, "validation"
    )
    self.kind, self.members = _kind(text), natural_set.members
    self.joined = natural_set.joined
    label_of = {
      m: i for i, group in enumerate(natural_set.members) for m in group
    }
    self._listed = [
      dataclasses.replace(file, label=label_of[file.label])
      for file in imagenet.clean(_manual(options.manual_dir, text))
      if file.label in label_of
    ]

  def files(self) -> Sequence[source.File]:
    """Return the pictures, under their official names."""
    return self._listed


def builder_class(text: str, options: own_set.Options) -> type[base.Builder]:
  """Return the builder of a natural set, or of its reference.

  Raises:
    MissingError: the set's files are missing.
    UserError: the options give it another name, or ask for sequences of a set
      whose pictures have several right classes.
  """
  row, config = natural_sets.parse(text)
  if options.name:
    raise errors.UserError(
      f"{options.name!r}: {row.name} is a published set and has its name. Leave"
      " name= (--config.data.set_name) out."
    )
  held = config == natural_sets.REFERENCE
  manual_dir = options.manual_dir or None
  if row.has_boxes:
    with known_files.lacking(row.name, manual_dir, _layout(row)):
      return _boxes(row, config, options)
  with known_files.lacking(row.name, manual_dir, _layout(row)):
    own = _read(row, row.name if held else text, options)
  if held:
    with known_files.lacking(text, manual_dir, imagenet.INSTRUCTIONS):
      own = Reference(text, own, options)
  if own.several and options.sequences:
    raise errors.UserError(
      f"{text}: a picture may have several right classes, and ImageNet-P's"
      " numbers are defined for one. Leave perturbations out."
    )
  return labelled.builder_class(own, options.sequences)


def _layout(row: natural_sets.Row) -> str:
  """Return how the files of a set lie in the manual dir; empty of TFDS's sets."""
  if row.has_boxes:
    return (
      f"{row.name}: the folder {row.folder} of the manual dir, with"
      f" <domain>/{_COCO_FILE} and <domain>/{_COCO_PICTURES}: {row.said_by}"
    )
  if row.folder:
    return str(_LAYOUTS[row.layout][1](row))
  return "" if row.source else _INSTRUCTIONS


def _boxes(
  row: natural_sets.Row, config: str, options: own_set.Options
) -> type[base.Builder]:
  """Return the builder of a domain's pictures with boxes."""
  text = f"{row.name}/{config}"
  folder = _manual(options.manual_dir, text) / row.folder / config
  if not (folder / _COCO_FILE).exists():
    raise FileNotFoundError(
      f"{folder / _COCO_FILE} is not there.\n{_layout(row)}"
    )
  made = coco.builder_class(
    str(folder / _COCO_FILE),
    dataclasses.replace(
      options,
      name=natural_sets.set_name(text),
      images=str(folder / _COCO_PICTURES),
    ),
  )
  own: Any = made.OWN
  own.kind, own.where, own.conditions = _kind(text), text, "none"
  own.notes = [*own.notes, f"terms: {row.terms}"]
  return made


def _read(row: natural_sets.Row, text: str, options: own_set.Options) -> Any:
  """Return a set, by what its row says of its source."""
  if not row.folder:
    return (Natural if row.source else ObjectNet)(text, options)
  manual_dir = _manual(options.manual_dir, text)
  own: Any = _LAYOUTS[row.layout][0](text, manual_dir)
  own.kind = _kind(text)
  return own


def _kind(text: str) -> str:
  """Return the beginning of the names of the builders' folders."""
  return re.sub(r"\W", "_", natural_sets.set_name(text))


def _check_version(builder: Any, text: str) -> None:
  """Refuse a set that another version of TFDS prepared, instead of downloading it
  again.
  """
  folder = paths.parse(builder.data_dir)
  if builder.is_prepared() or not folder.parent.is_dir():
    return
  others = sorted(
    entry.name
    for entry in paths.scan(folder.parent)
    if re.fullmatch(r"\d+\.\d+\.\d+", entry.name)
  )
  if others and builder.version not in others:
    raise errors.UserError(
      f"{text}: {folder.parent} holds version {', '.join(others)}, and this"
      f" tensorflow_datasets reads {builder.version}, whose file names may differ."
      f" Prepare it again: tfds.load({builder.info.full_name!r}, data_dir=...), or"
      " name another data_dir."
    )


def _manual(manual_dir: str, text: str) -> Any:
  if not manual_dir:
    raise FileNotFoundError(f"{text}: no manual_dir is named.")
  return paths.parse(manual_dir, "manual_dir")


def _outputs(
  there: Mapping[str, source.File],
) -> Mapping[str, tuple[str, Sequence[int]]]:
  """Return folder of pictures -> its name and its classes in ImageNet."""
  tables = [f"mappings/{name}" for name in (*_TABLES, _LINES)]
  if absent := [name for name in tables if name not in there]:
    raise errors.UserError(
      f"{_OBJECTNET}: {', '.join(absent)} missing. The archive's own tables say"
      " which of its classes ImageNet has: unpack its folder mappings too."
    )
  *places, names = (there[name].path for name in tables)
  called, shared, lines = map(json_file, places)
  text = line_list(names)
  try:
    output_of = {text[int(line)].strip(): int(o) for o, line in lines.items()}
    out = {
      each: (name, [output_of[n.strip()] for n in shared[name].split(";")])
      for each, name in sorted(called.items())
      if name in shared
    }
    members = [m for _, group in out.values() for m in group]
    if len(set(members)) < len(members) or not set(members) <= set(range(1000)):
      raise ValueError("an output stands for two classes, or is not in 0..999")
  except (AttributeError, IndexError, KeyError, TypeError, ValueError) as e:
    raise errors.UserError(
      f"{_OBJECTNET}/mappings: its tables do not go together"
      f" ({type(e).__name__}: {e}). Unpack the archive's folder mappings again."
    ) from e
  return out
