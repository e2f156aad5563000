"""Natural sets as rows of data: shifts of ImageNet's classes found in real pictures.

COCO-O has boxes of COCO's classes instead.
Where a row names a set of TFDS it is read through TFDS's own builder, and where it
names a folder, of pictures, Parquet or COCO files, from that. A set of several
configs is called `imagenet_v2/topimages`, its first one `imagenet_v2`.
`NAME/reference` are ImageNet's validation pictures of the same classes.
"""

import functools
import pathlib
from collections.abc import Mapping
from typing import NamedTuple

from robust_tfds import errors

REFERENCE = "reference"
ALL, OCCURRING, AVERAGED = "all", "occurring", "averaged"
BOXES = "boxes"
FOLDER, PARQUET, COCO = "folder", "parquet", "coco"  # layouts


class Row(NamedTuple):
  """A row of the table: one natural set.

  Attributes:
    name: as commands know it.
    source: TFDS's name; `folder:`, `parquet:` or `coco:` and the name of a folder
      of the manual dir; empty if another archive is read.
    configs: its configs, the default first, separated by commas; of a folder its
      parts, and `all` of them.
    labels: the feature with the labels; `[]` after it: a list, all of them right.
    classes: which of ImageNet's answers are possible: `all`, those `occurring` in
      the set, those `mapped` by the archive's own tables, or by `groups` to the
      best output of a class (`grouped`) or their mean probability (`averaged`);
      `boxes`: none, detectors are asked for COCO's.
    pictures: their number, of the default config; empty if no source says it.
    words: what the pictures show.
    paper: the paper that published it.
    terms: who owns the pictures, and the conditions of their use.
    said_by: the source of `pictures` and `terms`.
  """

  name: str
  source: str
  configs: str
  labels: str
  classes: str
  pictures: str
  words: str
  paper: str
  terms: str
  said_by: str

  @property
  def folder(self) -> str:
    """The folder that holds the set; empty if it is read otherwise."""
    return self.source.partition(":")[2]

  @property
  def layout(self) -> str:
    """How the files lie in the folder: `FOLDER`, `PARQUET`, `COCO`; or empty."""
    return self.source.partition(":")[0] if self.folder else ""

  @property
  def has_boxes(self) -> bool:
    """Whether it is a set of detection."""
    return self.classes == BOXES

  @property
  def several(self) -> bool:
    """Whether a picture may have several right classes."""
    return self.labels != "label"


@functools.cache
def rows() -> Mapping[str, Row]:
  """Return the rows by name, in the order of the file."""
  path = pathlib.Path(__file__).with_suffix(".tsv")
  lines = path.read_text("utf-8").splitlines()[1:]
  listed = [Row(*line.split("\t")) for line in lines]
  return {row.name: row for row in listed}


@functools.cache
def groups(name: str) -> Mapping[str, tuple[int, ...]]:
  """Return class -> its outputs among ImageNet's 1,000, by the authors' mapping.

  >>> groups("laion_c")["cat"], len(groups("imagenet_d"))
  ((281, 282, 283, 284, 285, 286), 113)
  """
  path = pathlib.Path(__file__).with_name("natural_groups.tsv")
  lines = (line.split("\t") for line in path.read_text("utf-8").splitlines())
  return {
    group: tuple(map(int, outputs.split()))
    for of_set, group, outputs in lines
    if of_set == name
  }


def is_natural(text: str) -> bool:
  """Return whether a text names a natural set, or a config of one.

  >>> is_natural("imagenet_v2/topimages"), is_natural("imagenet_c")
  (True, False)
  """
  return text.partition("/")[0] in rows()


def parse(text: str) -> tuple[Row, str]:
  """Return the row and the config of a set; empty: the set's only config.

  Raises:
    UserError: an unknown config, with the nearest one.
  """
  name, _, config = text.partition("/")
  row = rows()[name]
  configs = row.configs.split(",")
  known = configs if row.has_boxes else [*configs, REFERENCE]
  if config not in ("", *known):
    raise errors.unknown_error(f"{name}'s config", config, known)
  return row, config or configs[0]


def set_name(text: str) -> str:
  """Return the set's name in tables and example keys.

  >>> set_name("imagenet_v2"), set_name("imagenet_a/reference")
  ('imagenet_v2_matched-frequency', 'imagenet_a_reference')
  """
  row, config = parse(text)
  return "_".join(filter(None, (row.name, config)))


@functools.cache
def text_of(name: str) -> str | None:
  """Return the text from which `set_name` makes a name; None if there is none.

  >>> text_of("imagenet_v2_topimages"), text_of("imagenet_a"), text_of("pets")
  ('imagenet_v2/topimages', 'imagenet_a', None)
  """
  for row in rows().values():
    for config in (*row.configs.split(","), *[REFERENCE] * (not row.has_boxes)):
      text = f"{row.name}/{config}".rstrip("/")
      if name == set_name(text):
        return text
  return None


def row_of_set(name: str) -> Row | None:
  """Return the row of a set's name in tables; None for reference sets, too."""
  text = text_of(name)
  if text is None:
    return None
  row, config = parse(text)
  return None if config == REFERENCE else row


def is_taken(name: str) -> bool:
  """Return whether tables use the name for a natural set or its reference set."""
  return text_of(name) is not None
