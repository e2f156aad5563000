"""Label spaces: classes of a data set as groups of a model's classes.

A model of 1,000 classes is scored on a data set of fewer by the best logit of
each class's members, inside the jitted step and before the top-5. Any data set
may have a space: a `label_map.json` in its folder (the folder is the registry),
or a JSON file of your own.

The JSON holds `source`, `source_classes` (number of the model's classes) and
`classes`, each with `name` and `members` (indices into the model's classes).
"""

import dataclasses
import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
import pydantic
from etils import epath

from robust_tfds import datasets, errors, reading
from robust_tfds.storage import paths

_FILE = "label_map.json"
MERGES = ("max", "mean", "median", "sum")


class _Class(pydantic.BaseModel):
  """A class in a file."""

  name: str
  members: list[int]


class _Record(pydantic.BaseModel):
  """The content of a file; other fields are ignored."""

  source_classes: int = pydantic.Field(gt=0)
  classes: list[_Class]
  source: str = ""


@dataclasses.dataclass(frozen=True)
class LabelSpace:
  """A label space: C classes as groups of S source classes.

  Attributes:
    name: e.g. `imagenet_vid_robust`.
    classes: the C names.
    members: C tuples of indices in 0 ... S - 1; empty for a class that the
      source lacks, which is never predicted.
    source_classes: S.
    source: where the groups come from.
  """

  name: str
  classes: tuple[str, ...]
  members: tuple[tuple[int, ...], ...]
  source_classes: int
  source: str = ""

  def __post_init__(self) -> None:
    """Refuse members outside the source, in two classes, or none."""
    listed = [m for group in self.members for m in group]
    outside = [m for m in listed if not 0 <= m < self.source_classes]
    repeated = [m for m in listed if listed.count(m) > 1]
    twice = [c for c in self.classes if self.classes.count(c) > 1]
    fault = ""
    if twice:
      fault = f"two classes have the name {twice[0]!r}"
    elif outside:
      fault = (
        f"got member {outside[0]}, expected indices of source classes,"
        f" 0..{self.source_classes - 1}"
      )
    elif repeated:
      fault = f"{repeated[0]} is a member of two classes, or twice of one"
    elif not listed:
      fault = "no class has a member"
    if fault:
      raise errors.UserError(f"{self.name}: {fault}.")

  @property
  def columns(self) -> tuple[int, ...]:
    """The source classes that are a member of some class, sorted."""
    return tuple(sorted(m for group in self.members for m in group))

  @property
  def mark(self) -> str:
    """The name, and 12 hexadecimal digits of a hash of the members."""
    text = json.dumps([self.classes, self.members, self.source_classes])
    return f"{self.name} {hashlib.sha256(text.encode()).hexdigest()[:12]}"

  def project(self, logits: jax.Array, merge: str = "max") -> jax.Array:
    """Return the logits of the classes; can be jitted.

    Args:
      logits: float `[..., S]`, or `[..., len(columns)]` of only the members;
        `[..., C]` passes unchanged: a model of this very space.
      merge: `max` (the authors'), or `mean`, `median`, `sum`.

    Returns:
      `[..., C]`, -inf for classes without members.

    Raises:
      UserError: an unknown merge, or logits of another label space.
    """
    if merge not in MERGES:
      raise errors.unknown_error("merge", merge, MERGES)
    given = logits.shape[-1]
    if given == len(self.classes) != self.source_classes:
      return logits
    where = {c: i for i, c in enumerate(self.columns)}
    if given == self.source_classes:
      where = {c: c for c in self.columns}
    elif given != len(where):
      raise errors.UserError(
        f"Wrong label space: {given} logits; {self.name} needs"
        f" {self.source_classes} (or the {len(where)} members alone, or its own"
        f" {len(self.classes)} classes)."
      )
    widest = max(map(len, self.members))
    index = np.zeros((len(self.members), widest), np.int32)
    inside = np.zeros(index.shape, bool)
    for row, group in enumerate(self.members):
      index[row, : len(group)] = [where[m] for m in group]
      inside[row, : len(group)] = True
    merged = _merged(jnp.asarray(logits)[..., index], inside, merge)
    return jnp.where(inside.any(axis=1), merged, -jnp.inf)


def _merged(grouped: jax.Array, inside: np.ndarray, merge: str) -> jax.Array:
  if merge == "max":
    return jnp.where(inside, grouped, -jnp.inf).max(axis=-1)
  if merge == "median":
    alone = jnp.where(inside, grouped, jnp.nan)
    return jnp.nanmedian(alone, axis=-1)
  total = jnp.where(inside, grouped, 0).sum(axis=-1)
  return total / np.maximum(inside.sum(axis=1), 1) if merge == "mean" else total


def names() -> tuple[str, ...]:
  """Return the data sets with a label space of their own."""
  return tuple(sorted(p.parent.name for p in _folder().glob(f"*/{_FILE}")))


def get(name: str) -> LabelSpace:
  """Return a space by its data set's name, or from a JSON file.

  Args:
    name: one of `names()`, or the path of a `.json` file.

  Raises:
    UserError: an unknown name (with a suggestion), or a broken file.
    FileNotFoundError: no such file.

  >>> space = get("imagenet_vid_robust")
  >>> len(space.classes), len(space.columns), space.classes[4]
  (30, 288, 'bird')
  """
  if name.endswith(".json"):
    return _read(paths.parse(name))
  if name not in names():
    raise errors.unknown_error("label space", name, names())
  return _read(_folder() / name / _FILE, name)


def _folder() -> epath.Path:
  return epath.Path(datasets.__path__[0])


def _read(path: epath.Path, name: str = "") -> LabelSpace:
  if not path.exists():
    raise FileNotFoundError(f"No label map at {path}.")
  record = reading.records(reading.json_file(path), _Record, str(path))
  try:
    return LabelSpace(
      name=name or path.stem,
      classes=tuple(c.name for c in record.classes),
      members=tuple(tuple(c.members) for c in record.classes),
      source_classes=record.source_classes,
      source=record.source,
    )
  except errors.UserError as e:
    raise errors.UserError(f"{path}: {e}") from e
