"""Editions of the benchmark, and severities.

An edition is a published variant of the whole benchmark: a table of severities
(in each corruption's file) plus the algorithm switches below. The corruptions
are listed in `robust_tfds/conditions.py`, and
`robust_tfds/corruptions/plugins.py` describes their files. The facts are in
docs/evidence/specs/corruptions.md sections 1-4.
"""

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions, errors

_QUARTERS = tuple(i / 4 for i in range(1, 21))  # severities of edition `ccc`


@dataclasses.dataclass(frozen=True)
class Edition:
  """A published variant of the benchmark.

  Attributes:
    name: the edition's name.
    size_px: side of its square images; None if any size is allowed.
    parents: editions whose severities are used if a corruption's file has no
      row for this one, nearest first.
    michaelis: whether the detection paper's any-size rules (imagecorruptions
      1.1.2) replace Hendrycks' (docs/evidence/specs/corruptions.md section 4).
    plasma_px: side of the fog map; None: the next power of two that covers the
      image (exact powers stay).
    frost_scale: factor on the frost pictures before the crop; None: as large as
      the image needs, times 1.1, cubic.
    elastic_px: the length that elastic_transform's constants are multiples of.
    steps: levels for each whole severity; tables have a row for each level.
  """

  name: str
  size_px: int | None
  parents: tuple[str, ...] = ()
  michaelis: bool = False
  plasma_px: int | None = None
  frost_scale: float | None = 1.0
  elastic_px: int = (
    244  # not 224: make_imagenet_c.py's typo, which became the benchmark
  )
  steps: int = 1

  @property
  def levels(self) -> int:
    """The number of its levels, which is the number of rows of its tables."""
    return self.steps * len(conditions.SEVERITIES)

  @property
  def side_px(self) -> int:
    """The side of its square images; UserError if any size is allowed."""
    if self.size_px is None:
      raise errors.UserError(
        f"Edition {self.name!r} has no size of its own; use another edition."
      )
    return self.size_px

  def row(self, severities: Mapping[str, Iterable]) -> tuple:
    """Return the row of each level of a corruption's table in this edition."""
    for name in (self.name, *self.parents):
      if name in severities:
        return tuple(severities[name])
    raise errors.UserError(
      f"No severities for edition {self.name!r}: this corruption has severities for"
      f" {', '.join(map(repr, severities))}."
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
      # Press et al. 2023: ImageNet-C's at .25, .5 .. 5 (docs/evidence/specs/ccc.md).
      Edition("ccc", 224, plasma_px=256, steps=4),
    )
  }
)


def edition(name: str) -> Edition:
  """Return the edition with this name; ValueError with a suggestion if there is
  none.
  """
  if not isinstance(name, str) or name not in EDITIONS:
    raise errors.unknown_error("edition", name, EDITIONS)
  return EDITIONS[name]


def edition_for(side_px: int) -> str:
  """Return the edition whose severities fit square pictures of a size.

  It is the edition of that size; if there is none (227 px for Caffe, 331 px for
  NASNet), the nearest in proportion whose fog map covers them, which a run's
  table notes.

  Raises:
    UserError: the size is larger than any fog map.

  >>> [edition_for(px) for px in (299, 224, 64, 32, 227, 331)]
  ['inception', 'imagenet', 'imagenet64', 'cifar10', 'imagenet', 'inception']
  """
  covering = [e for e in EDITIONS.values() if (e.plasma_px or 0) >= side_px]
  if not covering:
    largest = max(e.plasma_px or 0 for e in EDITIONS.values())
    raise errors.UserError(
      f"No edition of the corruptions has {side_px} px; they are for pictures of"
      f" up to {largest} px. Use a smaller crop, e.g. data.geometry=inception."
    )
  return min(covering, key=lambda e: abs(math.log(e.side_px / side_px))).name


def edition_of(height: int, width: int) -> str:
  """Return the edition of a picture if none is named.

  Of a square picture of exactly an edition's size it is that; else `any`.

  >>> [edition_of(*size) for size in ((224, 224), (64, 64), (300, 401), (256, 256))]
  ['imagenet', 'imagenet64', 'any', 'any']
  """
  sizes = {e.size_px for e in EDITIONS.values()}
  return edition_for(height) if height == width in sizes else "any"


def quarters(first: Any, rows: Iterable[Any]) -> tuple[Any, ...]:
  """Return a table at severities .25, .5 .. 5, interpolated linearly.

  Press et al. 2023, docs/evidence/specs/ccc.md section 2.

  Args:
    first: the row of severity 0, a number or several.
    rows: rows of severities 1 to 5.

  >>> quarters(0, (0.08, 0.12, 0.18, 0.26, 0.38))[:5]
  (0.02, 0.04, 0.06, 0.08, 0.09)
  """
  known = np.array([first, *rows], np.float64)
  at = np.arange(1, 21) / 4
  below = np.minimum(at.astype(int), 4)
  share = (at - below).reshape(-1, *[1] * (known.ndim - 1))
  between = (1 - share) * known[below] + share * known[below + 1]
  # Decimals as they would be written: floors must not see rounding errors.
  plain = np.round(between, 12).tolist()
  return tuple(tuple(r) if isinstance(r, list) else r for r in plain)


def level(value: object, variant: Edition) -> int | jax.Array:
  """Return the level of a severity: the row of its table, from 1.

  Args:
    value: as for `severity`; with several steps, a multiple of their fraction.

  Raises:
    UserError: as for `severity`; a traced value where there are fractions.
  """
  if variant.steps == 1:
    return severity(value)
  if isinstance(value, jax.core.Tracer):
    raise errors.UserError(
      f"Edition {variant.name!r} needs a severity that is known, got a traced"
      " one: call once for each severity."
    )
  return round(key_severity(value) * variant.steps)


def is_unchanged(value: object, name: str | None) -> bool:
  """Return whether a severity of an edition leaves pictures as they are: CCC's 0."""
  known = isinstance(value, (int, float, np.number))
  return name == "ccc" and known and value == 0


def key_severity(value: object) -> float:
  """Return a severity as keys have it: whole ones as int, else a fraction.

  Raises:
    UserError: not above 0, beyond 5, or no multiple of .25.

  >>> key_severity(2.0), key_severity(2.5)
  (2, 2.5)
  """
  if isinstance(value, (float, np.floating)) and value in _QUARTERS:
    return int(value) if value == int(value) else float(value)
  return check_severity(value)


def severity(value: object) -> int | jax.Array:
  """Return a concrete severity as int, a traced one unchanged.

  Args:
    value: 1-5: an integer of Python, numpy or jax, also as a float (3.0), or a
      traced one, whose value is unknown here: see `refusal.py`.

  Raises:
    UserError: a concrete value is outside 1-5, an array with axes, or no
      integer.
  """
  if isinstance(value, jax.core.Tracer):
    if value.shape or not jnp.issubdtype(value.dtype, jnp.integer):
      raise _no_severity(f"a traced {value.dtype}{list(value.shape)}")
    return value
  if isinstance(value, (float, np.floating)) and value in conditions.SEVERITIES:
    return int(value)
  number = conditions.whole_number(value)
  if number is None:
    raise _no_severity(repr(value))
  if number == 0:
    raise errors.UserError(
      "Severity 0 is the clean image and has no corruption; got 0, expected"
      " 1-5. Use the image as it is (the `clean` config of a dataset)."
    )
  if number not in conditions.SEVERITIES:
    raise errors.UserError(f"Severity must be 1-5, got {number}.")
  return number


def check_severity(value: object) -> int:
  """Return a severity as int, for code that runs on the host.

  Raises:
    UserError: as for `severity`, or the value is traced.
  """
  number = severity(value)
  if not isinstance(number, int):
    raise errors.UserError(
      "Severity must be known here, got a traced value: this works on the host,"
      " outside jit."
    )
  return number


def _no_severity(got: str) -> errors.UserError:
  return errors.UserError(
    f"Severity must be an integer 1-5, got {got}. One severity serves a whole"
    " batch: call once for each. Multiples of .25 are of edition='ccc' alone."
  )
