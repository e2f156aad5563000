"""Published checkpoints that are known here, as facts without weights.

A row of the tables beside this file is a checkpoint: its name for
`models.convert.load`, its network, and its preprocessing. `torchvision.csv` and
`timm.csv` hold the statements of torchvision 0.28 and timm 1.0.31
(`tools/known_checkpoints.py` writes them); `packages.csv` is written by hand,
from files that were read whole, and `hub.csv`, of repositories of the Hugging Face
hub that were not. Unknown values are empty: torchvision's file
names carry 8 digits of the sha256, and for timm's files on the hub none is
known.
"""

import dataclasses
import functools
import pathlib
import re
from collections.abc import Mapping
from typing import Any

from etils import epath

from robust_tfds import reading
from robust_tfds.storage import paths

TABLES = ("packages", "torchvision", "timm", "hub")
COLUMNS = (
  "name",
  "models",
  "where",
  "sha256",
  "licence",
  "trained_on",
  "top1",
  "top5",
  "num_classes",
  "weights",
  "input_px",
  "resize",
  "resize_px",
  "crop_fraction",
  "interpolation",
  "channel_order",
  "scale",
  "mean",
  "std",
  "source",
)
# `resnet50-0676ba61.pth`: the first digits of the file's sha256.
_DIGITS = re.compile(r"-([0-9a-f]{8,64})\.\w+$")
_WHOLE = ("input_px", "resize_px")
_REAL = ("crop_fraction", "scale")
_WORDS = ("resize", "interpolation", "channel_order")
_TRIPLES = ("mean", "std")


@dataclasses.dataclass(frozen=True)
class Known:
  """A published checkpoint.

  Attributes:
    name: name for `models.convert.load`, e.g.
      `torchvision:ResNet50_Weights.IMAGENET1K_V2`.
    models: models of the catalogue whose variables it can be.
    where: address of the file, or of the page that holds it; for a package its
      version and the file in it.
    sha256: sha256 of the file: 64 digits, or those in its name (8 or 10), or
    empty if
      unknown.
    licence: licence that its source states; empty if none.
    trained_on: data sets in order, e.g. `imagenet21k, imagenet1k`; empty if its
      source does not state them.
    top1: printed top-1 accuracy on ImageNet's validation pictures, in [0, 1];
    None if
      none is printed.
    top5: the same for the best five.
    num_classes: number of outputs; None if unknown.
    weights: family of preprocessing and names, as `ModelSpec.weights`.
    spec_fields: fields of `models.spec.Spec` for its preprocessing; empty for
      models that are no classifiers of pictures.
    source: where these values are written down.
  """

  name: str
  models: tuple[str, ...]
  where: str
  sha256: str
  licence: str
  trained_on: str
  top1: float | None
  top5: float | None
  num_classes: int | None
  weights: str
  spec_fields: Mapping[str, Any]
  source: str

  @property
  def file(self) -> str:
    """The name of the file at its source; '' if `where` is a page."""
    last = self.where.rpartition("/")[2]
    return last if _DIGITS.search(last) else ""

  @property
  def is_non_commercial(self) -> bool:
    """Whether its licence allows non-commercial use alone."""
    return "-NC-" in self.licence or "non-commercial" in self.licence

  @property
  def says_sha256(self) -> str:
    """The known part of the sha256, in words."""
    if len(self.sha256) == 64:
      return self.sha256
    if self.sha256:
      return f"{self.sha256}... (the file's name has {len(self.sha256)} digits)"
    return "not known here"


def for_model(model: str) -> tuple[Known, ...]:
  """Return the checkpoints that are variables of a model; packages first.

  Args:
    model: one of `models.names()`.

  Returns:
    The checkpoints in the order of the tables; () if none is known.
  """
  return tuple(known for known in every() if model in known.models)


def named(name: str) -> Known | None:
  """Return the checkpoint with this name, e.g. `timm:resnet50.a1_in1k`."""
  return _names_table().get(name)


def find_file(path: epath.Path) -> Known | None:
  """Return the known checkpoint that a file is, by the digits in its name.

  The file's own sha256 must begin with these digits: a name alone proves
  nothing.

  Raises:
    OSError: it cannot be read.
  """
  match = _DIGITS.search(path.name)
  row = _digits_table().get(match[1][:8]) if match else None
  if row is None or not paths.is_file(path):
    return None
  return row if is_of(row, path) else None


def is_of(row: Known, path: epath.Path) -> bool:
  """Return whether a file's sha256 begins with the known digits.

  Raises:
    OSError: it cannot be read.
  """
  return not row.sha256 or paths.sha256(path).startswith(row.sha256)


@functools.cache
def every() -> tuple[Known, ...]:
  """Return all checkpoints of the tables."""
  folder = pathlib.Path(__file__).parent
  return tuple(
    _parse_row(row)
    for table in TABLES
    for _, row in reading.csv_file(folder / f"{table}.csv", COLUMNS)
  )


@functools.cache
def _names_table() -> Mapping[str, Known]:
  return {known.name: known for known in every()}


@functools.cache
def _digits_table() -> Mapping[str, Known]:
  """Return the checkpoints by the first 8 digits of their sha256."""
  return {known.sha256[:8]: known for known in every() if known.sha256}


def _parse_row(row: Mapping[str, str]) -> Known:
  fields: dict[str, Any] = {n: row[n] for n in _WORDS if row[n]}
  fields |= {n: int(row[n]) for n in _WHOLE if row[n]}
  fields |= {n: float(row[n]) for n in _REAL if row[n]}
  fields |= {
    n: tuple(float(v) for v in row[n].split()) for n in _TRIPLES if row[n]
  }
  top1, top5 = (float(row[n]) if row[n] else None for n in ("top1", "top5"))
  return Known(
    row["name"],
    tuple(row["models"].split()),
    row["where"],
    row["sha256"],
    row["licence"],
    row["trained_on"],
    top1,
    top5,
    int(row["num_classes"]) if row["num_classes"] else None,
    row["weights"],
    fields,
    row["source"],
  )
