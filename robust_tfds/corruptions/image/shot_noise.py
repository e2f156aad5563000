"""Shot noise: clip(Poisson(v * rate) / rate), i.i.d. per value.

docs/evidence/specs/corruptions.md sections 1 and 3 (make_imagenet_c.py, shot_noise). An
input value has 256 levels, so a draw is one look-up in Walker's alias table of
its level (Walker 1977, "An efficient method for generating discrete random
variables"): one random word and one read, whatever the rate. Counts beyond the
rate all saturate to white and share one outcome.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds.corruptions import plugins, seeding, spec
from robust_tfds.corruptions.ops import layout

SEVERITIES = {  # expected photons of a white value
  "imagenet": (60, 25, 12, 5, 3),
  "inception": (50, 20, 10, 5, 3),
  "tiny_imagenet": (250, 100, 50, 30, 15),
  "cifar10": (500, 250, 100, 75, 50),
}
# CCC interpolates what a photon is worth.
SEVERITIES["ccc"] = tuple(
  round(1 / worth, 6)
  for worth in spec.quarters(0, [1 / rate for rate in SEVERITIES["imagenet"]])
)
_WORD = 32


def tables(edition: spec.Edition) -> dict[str, np.ndarray]:
  """Return `alias` uint32 `[5, 256, columns]` and `step`, levels per photon
  `[5]`; of CCC also `bits` of the columns that a row uses.

  Column j of a level's table is drawn with the word's top bits; an entry holds
  the share of the column that stays with count j (high bits, in units of the
  word's remaining bits) and the count that has the rest (low bits).
  """
  rates = edition.row(SEVERITIES)
  if edition.steps == 1:
    return alias_tables(rates)
  # As many columns as `imagenet` has, or more: whole severities draw alike.
  most = max(SEVERITIES["imagenet"])
  each = [alias_tables((most, rate)) for rate in rates]
  bits = [t["alias"].shape[-1].bit_length() - 1 for t in each]
  alias = np.zeros((len(rates), 256, 1 << max(bits)), np.uint32)
  for row, table in zip(alias, each, strict=True):
    row[:, : table["alias"].shape[-1]] = table["alias"][1]
  steps = np.stack([table["step"][1] for table in each])
  return {"alias": alias, "step": steps, "bits": np.array(bits, np.uint32)}


def alias_tables(rates: Sequence[float]) -> dict[str, np.ndarray]:
  """Return `tables` for any rates."""
  bits = math.ceil(max(rates)).bit_length()  # counts 0..rate
  pmf = np.concatenate([_clipped_poisson(r, 1 << bits) for r in rates])
  return {
    "alias": _alias(pmf).reshape(len(rates), 256, 1 << bits),
    "step": np.array([_step(r) for r in rates], np.float32),
  }


def draw(scene: plugins.Scene, stream: jax.typing.ArrayLike = 0) -> jax.Array:
  """Draw photon counts, int32 `[H, W * 3]`; those beyond the rate are all equal."""
  columns = scene.table["alias"].shape[-1]
  bits = scene.table.get("bits", columns.bit_length() - 1)
  shift = _WORD - bits
  levels = layout.flat(scene.image).astype(jnp.uint32)
  words = seeding.bits(scene.key, levels.shape, stream)
  column = words >> shift
  entry = scene.table["alias"].reshape(-1)[levels * columns + column]
  rest = words - (column << shift)
  stays = rest < (entry >> bits)
  count = jnp.where(stays, column, entry & ((np.uint32(1) << bits) - 1))
  return count.astype(jnp.int32)


def apply(scene: plugins.Scene, draws: jax.Array) -> jax.Array:
  """Compute levels `[H, W * 3]`; `draws` are Poisson counts, one a value."""
  return layout.flat(draws).astype(jnp.float32) * scene.table["step"]


def _step(rate: float) -> np.float32:
  """Return the levels per photon, rounded so that truncation equals the float64
  code's.
  """
  counts = np.arange(math.ceil(rate) + 1)
  want = (np.clip(counts / float(rate), 0, 1) * 255).astype(np.uint8)
  step = np.float32(255 / rate)
  for candidate in (step, np.nextafter(step, np.float32(256))):
    levels = np.minimum(counts.astype(np.float32) * candidate, 255)
    if np.array_equal(levels.astype(int), want):
      return candidate
  raise AssertionError(f"No float32 step reproduces the levels of rate {rate}.")


def _clipped_poisson(rate: float, columns: int) -> np.ndarray:
  """Compute probabilities `[256, columns]` of min(Poisson(level / 255 * rate),
  rate).
  """
  largest = math.ceil(rate)
  counts = np.arange(largest)
  mean = (np.arange(256) / 255 * rate)[:, None]
  log_factorial = np.concatenate([[0], np.cumsum(np.log(counts[1:]))])
  with np.errstate(divide="ignore", invalid="ignore"):
    log = np.where(counts == 0, 0.0, counts * np.log(mean))
  pmf = np.zeros((256, columns))
  pmf[:, :largest] = np.exp(log - mean - log_factorial)
  pmf[:, largest] = np.maximum(1 - pmf.sum(axis=1), 0)
  return pmf


def _alias(pmf: np.ndarray) -> np.ndarray:
  """Build alias tables of every row of `pmf [n, columns]`, packed in uint32.

  Probabilities are rounded to multiples of 2**-32, the mode absorbs the rest;
  from there all is exact.
  """
  n, columns = pmf.shape
  bits = columns.bit_length() - 1
  unit = 1 << (_WORD - bits)  # contents of a column
  mass = np.round(pmf * 2.0**_WORD).astype(np.int64)
  rows = np.arange(n)
  mass[rows, mass.argmax(axis=1)] += (1 << _WORD) - mass.sum(axis=1)
  # Columns with room first, then those with too much.
  order = np.argsort(mass >= unit, axis=1, kind="stable")
  roomy = (mass < unit).sum(axis=1)
  stays = np.zeros((n, columns), np.int64)
  other = np.tile(np.arange(columns), (n, 1))
  taken, giver = np.zeros(n, int), roomy.copy()
  # The column being filled: the next with room, or a giver that now has room.
  current, held = order[:, 0], mass[rows, order[:, 0]]
  active = roomy > 0
  while active.any():
    source = order[rows, np.minimum(giver, columns - 1)]
    stays[rows[active], current[active]] = held[active]
    other[rows[active], current[active]] = source[active]
    mass[rows[active], source[active]] -= (unit - held)[active]
    spent = active & (mass[rows, source] < unit)
    giver = giver + spent
    taken = taken + (active & ~spent)
    following = order[rows, np.minimum(taken, columns - 1)]
    current = np.where(spent, source, following)
    held = mass[rows, current]
    active = active & (spent | (taken < roomy))
  return ((stays << bits) | other).astype(np.uint32)


PLUGIN = plugins.Corruption(
  severities=SEVERITIES,
  tables=tables,
  draw=draw,
  apply=apply,
)
