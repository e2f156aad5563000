"""What a corruption and an edition are: names, groups, editions, severities.

A corruption is one file in `robust_tfds/corruptions/image/`; the folder is the
registry and this module finds the files. An edition is a published variant of
the whole benchmark: a table of severities (kept in each corruption's file) plus
the algorithm switches below. `../shared/specs/corruptions.md` sections 1-4 hold
the facts.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import pkgutil
import types
from collections.abc import Iterable
from collections.abc import Mapping

import numpy as np

SEVERITIES = (1, 2, 3, 4, 5)


@dataclasses.dataclass(frozen=True)
class Info:
  """What a corruption's file says of itself.

  Attributes:
    group: `noise`, `blur`, `weather` or `digital` (Hendrycks & Dietterich 2019,
      section 3.1).
    benchmark: `common` for the 15 that enter mCE, `extra` for the 4 of the
      validation set.
    position: place in the paper's order, from 0, within `benchmark`.
  """

  group: str
  benchmark: str
  position: int


@dataclasses.dataclass(frozen=True)
class Edition:
  """A published variant of the benchmark.

  Attributes:
    name: the edition's name.
    size_px: side of its square images; None where any size is allowed.
    parents: editions whose severities are used where a corruption's file has no
      row for this one, nearest first.
    michaelis: the detection paper's any-size rules (imagecorruptions 1.1.2) in
      place of Hendrycks' (specs/corruptions.md section 4).
    plasma_px: side of the fog map; None: the next power of two that covers the
      image (exact powers stay).
    frost_scale: factor on the frost pictures before the crop; None: as large as
      the image needs, times 1.1, cubic.
    elastic_px: the length that elastic_transform's constants multiply.
  """

  name: str
  size_px: int | None
  parents: tuple[str, ...] = ()
  michaelis: bool = False
  plasma_px: int | None = None
  frost_scale: float | None = 1.0
  elastic_px: int = 244  # not 224: make_imagenet_c.py's typo, kept for ever

  def row(self, severities: Mapping[str, Iterable]) -> tuple:
    """The five severities of a corruption's table in this edition."""
    for name in (self.name, *self.parents):
      if name in severities:
        return tuple(severities[name])
    raise ValueError(
      f"No severities for edition {self.name!r}: the table has "
      f"{', '.join(severities)}. Add a row for it."
    )


EDITIONS: Mapping[str, Edition] = types.MappingProxyType(
  {
    e.name: e
    for e in (
      Edition("imagenet", 224, plasma_px=256),
      Edition("inception", 299, ("imagenet",), plasma_px=512, elastic_px=360),
      Edition(
        "imagenet64",
        64,
        ("tiny_imagenet",),
        plasma_px=64,
        frost_scale=0.3,
        elastic_px=64,
      ),
      Edition(
        "tiny_imagenet", 64, plasma_px=64, frost_scale=0.3, elastic_px=64
      ),
      Edition("cifar10", 32, plasma_px=32, frost_scale=0.2, elastic_px=32),
      Edition("any", None, ("imagenet",), michaelis=True, frost_scale=None),
    )
  }
)


def unknown(kind: str, got: object, known: Iterable[str]) -> ValueError:
  """The error for a name that is not there, with the nearest known one."""
  known = list(known)
  near = difflib.get_close_matches(str(got), known, n=1)
  hint = f" Did you mean {near[0]!r}?" if near else ""
  return ValueError(f"Unknown {kind} {got!r}.{hint} Known: {', '.join(known)}.")


def edition(name: str) -> Edition:
  """The edition of that name; ValueError with a suggestion if there is none."""
  if name not in EDITIONS:
    raise unknown("edition", name, EDITIONS)
  return EDITIONS[name]


@functools.cache
def modules(folder: str = "image") -> Mapping[str, types.ModuleType]:
  """Every plugin module of a folder of corruptions, by name, in paper order."""
  package = importlib.import_module(f"robust_tfds.corruptions.{folder}")
  found = {
    m.name: importlib.import_module(f"{package.__name__}.{m.name}")
    for m in pkgutil.iter_modules(package.__path__)
  }
  order = sorted(
    found,
    key=lambda n: (found[n].INFO.benchmark, found[n].INFO.position, n),
  )
  return types.MappingProxyType({name: found[name] for name in order})


def names(benchmark: str = "common", folder: str = "image") -> tuple[str, ...]:
  """Names of the corruptions of a benchmark (`common`, `extra` or `all`)."""
  if benchmark not in ("common", "extra", "all"):
    raise unknown("set of corruptions", benchmark, ("common", "extra", "all"))
  return tuple(
    name
    for name, module in modules(folder).items()
    if benchmark in ("all", module.INFO.benchmark)
  )


def resolve(
  wanted: str | Iterable[str], folder: str = "image"
) -> tuple[str, ...]:
  """Names in paper order, from what a user may write in a config or a flag.

  Args:
    wanted: `common`, `extra`, `all`, `none`, one name, several separated by
      commas, or a sequence of names.
    folder: which folder of plugins.

  Raises:
    ValueError: an unknown name, with a suggestion.
  """
  if isinstance(wanted, str):
    if wanted in ("", "none"):
      return ()
    if wanted in ("common", "extra", "all"):
      return names(wanted, folder)
    wanted = [w.strip() for w in wanted.split(",")]
  listed = list(wanted)
  for name in listed:
    module(name, folder)
  return tuple(n for n in names("all", folder) if n in listed)


def module(name: str, folder: str = "image") -> types.ModuleType:
  """The plugin module of one corruption; ValueError with a suggestion."""
  if name not in modules(folder):
    kind = "corruption" if folder == "image" else folder
    raise unknown(kind, name, modules(folder))
  return modules(folder)[name]


def check_severity(severity: object) -> None:
  """Refuses a concrete severity outside 1-5; traced values pass unchecked."""
  if isinstance(severity, (bool, np.bool_)):
    raise ValueError(f"Severity must be an integer 1-5, got {severity!r}.")
  if isinstance(severity, (int, np.integer)):
    if severity == 0:
      raise ValueError(
        "Severity 0 is the clean image and has no corruption; got 0, expected"
        " 1-5. Use the image as it is (the `clean` config of a dataset)."
      )
    if severity not in SEVERITIES:
      raise ValueError(f"Severity must be 1-5, got {severity}.")
  elif not hasattr(severity, "dtype") or not np.issubdtype(
    severity.dtype, np.integer
  ):
    raise ValueError(f"Severity must be an integer 1-5, got {severity!r}.")
