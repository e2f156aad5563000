"""Stability over perturbation sequences: ImageNet-P and its like.

An example is a sequence; the model sees its frames one by one. Temporal
perturbations are scored at difficulties 1-3, the distance of the frames that
are compared; noise has harder data instead, one condition each.

Cell metrics, with bootstrap intervals over sequences, `severity` being the
difficulty: `flip_probability`, `zipf_distance` and, from five classes up,
`unnormalised_t5d`; `error` of the clean images. Of one perturbation, normalised
by the baseline: `fr`, `t5d`. Over the benchmark: `clean_error`,
`mean_flip_probability` and `mean_unnormalised_t5d` (plain means over the 10
common perturbations), `mfr` and `mt5d`. Definitions: `eval/metrics/stability`.
The published baseline is known at difficulty 1 alone.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval import papers as published
from eval.metrics import corruption_error
from eval.metrics import intervals
from eval.metrics import stability
from eval.pipeline import predict
from eval.results import provenance
from eval.results import table
from eval.tasks import Cell
from eval.tasks import Condition
from eval.tasks import classification
from robust_tfds import conditions as conditions_lib
from robust_tfds.corruptions import sequences

COMMON = stability.COMMON
FLY = ("source", "png")
_DIFFICULTIES = conditions_lib.DIFFICULTIES
_NORMALISERS = {"fr": "flip_probability", "t5d": "unnormalised_t5d"}
_METRICS = {
  "flip_probability": "flips",
  "unnormalised_t5d": "t5d",
  "zipf_distance": "zipf",
}


@dataclasses.dataclass(frozen=True)
class Sequences(Condition):
  """A perturbation; `severity` is the difficulty, above 1 for noise alone."""

  @property
  def config(self) -> str:
    """The TFDS config's name, e.g. `gaussian_noise_2`."""
    if not self.corruption:
      return "clean"
    return self.corruption + (f"_{self.severity}" if self.severity > 1 else "")


def conditions(data: Any) -> list[Condition]:
  """Clean, then every perturbation; noise at every difficulty asked for.

  Args:
    data: has `perturbations` (`common`, `extra`, `all`, `none`, names separated
      by commas, or a sequence) and `difficulties`.

  Raises:
    ValueError: an unknown name (with a suggestion) or difficulty.
  """
  wanted = data.difficulties
  listed = sorted({wanted} if isinstance(wanted, int) else set(wanted))
  for difficulty in listed:
    if difficulty not in _DIFFICULTIES:
      raise ValueError(f"A difficulty is 1, 2 or 3, got {difficulty!r}.")
  out: list[Condition] = [Sequences()]
  for name in conditions_lib.SEQUENCES.resolve(data.perturbations):
    harder = listed if _is_noise(name) else (1,)
    out += [Sequences(name, difficulty) for difficulty in harder]
  return out


def groups(names: Sequence[str]) -> dict[str, str]:
  """`noise`, `blur`, `weather` or `digital` of every name."""
  return conditions_lib.SEQUENCES.group_of(names)


def frames(condition: Condition, edition: str) -> int:
  """How many frames a sequence has."""
  if not condition.corruption:
    return 1
  return sequences.frame_count(condition.config, edition)


def transform(where: Mesh, edition: str, codec: str) -> predict.Transform:
  """Makes the sequences on the devices."""
  return predict.sequencer(where, edition, codec)


def reducer(condition: Condition) -> predict.Reduce:
  """Top-5 of every frame; Zipf distances of every sequence."""
  if not condition.corruption:
    return classification.reduce
  return _reducer(_is_noise(condition.corruption))


@functools.cache
def _reducer(noise: bool) -> predict.Reduce:
  def reduce(logits):
    # [B, T, classes]; rankings over all classes never leave the device.
    zipf = jax.lax.map(lambda one: _zipf_distances(one, noise), logits)
    return {**classification.reduce(logits), "zipf": zipf}

  return reduce


def _zipf_distances(logits: jax.Array, noise: bool) -> jax.Array:
  """Mean distance of a sequence `[T, classes]` at each difficulty: `[D]`."""
  ranked = jnp.argsort(logits, axis=-1, stable=True, descending=True)
  place = jnp.argsort(ranked, axis=-1)
  weight = 1 / jnp.arange(1, logits.shape[-1] + 1, dtype=jnp.float32)

  def mean(earlier, later):
    sigma = jnp.take_along_axis(later, earlier, axis=-1)
    return (weight * jnp.abs(weight - weight[sigma])).sum(-1).mean()

  if noise:
    first = jnp.broadcast_to(ranked[:1], ranked[1:].shape)
    return mean(first, place[1:])[None]
  return jnp.stack([mean(ranked[:-d], place[d:]) for d in _DIFFICULTIES])


def columns(
  batch: Any, outputs: Mapping[str, np.ndarray], condition: Condition
) -> dict[str, np.ndarray]:
  """The batch's valid rows as predictions' columns.

  Besides the usual ones: `top5` int32 `[N, T, 5]`, `score` float32 `[N, T, 5]`,
  and per sequence and difficulty `[N, D]` float64 `flips` (the part of its pairs
  that flip), `t5d` and float32 `zipf`.
  """
  out = classification.columns(batch, outputs, condition)
  if not condition.corruption:
    return out
  noise = _is_noise(condition.corruption)
  top5 = out["top5"]
  for d in (1,) if noise else _DIFFICULTIES:
    pairs = {"flips": stability.flips(top5[..., 0], noise, d)}
    if top5.min(initial=0) >= 0:
      pairs["t5d"] = stability.top5_distances(top5, noise, d)
    for name, values in pairs.items():
      mean = values.mean(axis=1, dtype=np.float64)[:, None]
      out[name] = np.concatenate([*([out[name]] if d > 1 else []), mean], 1)
  out["zipf"] = outputs["zipf"][batch.mask]
  return out


def cell_rows(
  cell: Cell, predicted: Mapping[str, np.ndarray]
) -> list[table.Row]:
  """A row for each metric and difficulty; the errors of the clean images."""
  if not cell.corruption:
    first = {**predicted, "top5": predicted["top5"][:, 0]}
    return classification.cell_rows(cell, first)
  out = []
  for metric, column in _METRICS.items():
    if column not in predicted:
      continue
    for i, values in enumerate(predicted[column].T):
      rng = np.random.default_rng(cell.seed)
      lo, hi = intervals.bootstrap(values, rng)
      row = table.Row(
        **vars(cell),
        metric=metric,
        value=float(np.mean(values, dtype=np.float64)),
        lo=lo,
        hi=hi,
        n=len(values),
      )
      out.append(dataclasses.replace(row, severity=cell.severity + i))
  return out


def keep(predicted: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Ids and the values per sequence that the benchmark's intervals need."""
  wanted = ("example_id", "flips", "t5d")
  return {k: predicted[k] for k in wanted if k in predicted}


def check_baseline(baseline: str, labels: Sequence[str]) -> None:
  """ValueError unless the baseline is published, in this run, or empty."""
  classification.check_baseline(baseline, labels)


def summary_rows(
  rows: Sequence[table.Row],
  baseline: str,
  order: Sequence[str],
  kept: Mapping[tuple[str, Condition], Mapping[str, np.ndarray]],
) -> list[table.Row]:
  """Rows over cells, for every model in `rows`, at every difficulty.

  Args:
    rows: the cells' rows.
    baseline: a name in `eval/papers/baselines/`, `model:<label>` for a model of the
      same run, or empty for plain means alone.
    order: perturbations of the run, in the order of the table.
    kept: (model, condition) -> what `keep` gave.
  """
  out = []
  for label in dict.fromkeys(r.model for r in rows):
    own = [r for r in rows if r.model == label]
    out += _clean_error(own)
    for difficulty in _DIFFICULTIES:
      reference = _reference(rows, baseline, difficulty)
      cells = {
        c.corruption: values
        for (model, c), values in kept.items()
        if model == label and _has(c, difficulty)
      }
      summary = _Summary(own, baseline, difficulty, cells)
      out += summary.plain()
      for metric, unnormalised in _NORMALISERS.items():
        out += summary.normalised(metric, reference.get(unnormalised, {}))
  del order
  return out


@dataclasses.dataclass(frozen=True)
class _Summary:
  """One model at one difficulty."""

  rows: Sequence[table.Row]
  baseline: str
  difficulty: int
  cells: Mapping[str, Mapping[str, np.ndarray]]

  def plain(self) -> list[table.Row]:
    """Means over the common perturbations, not normalised."""
    out = []
    for metric in ("flip_probability", "unnormalised_t5d"):
      ones = dict.fromkeys(COMMON, 1.0)
      out += self._mean(f"mean_{metric}", metric, ones)
    return out

  def normalised(
    self, metric: str, reference: Mapping[str, float]
  ) -> list[table.Row]:
    """`metric` of every perturbation, and its mean over the common ones."""
    out = []
    unnormalised = _NORMALISERS[metric]
    for row in self.rows:
      if row.metric != unnormalised or row.severity != self.difficulty:
        continue
      by = reference.get(row.corruption)
      if by:
        ends = [row.value, row.lo or 0.0, row.hi or 0.0]
        value, lo, hi = (x / by for x in ends)
        out.append(self._row(row.corruption, metric, value, lo, hi, row.n))
    return out + self._mean(f"m{metric}", unnormalised, reference)

  def _mean(
    self, metric: str, unnormalised: str, reference: Mapping[str, float]
  ) -> list[table.Row]:
    """The mean over the common ones; the bootstrap draws whole images."""
    column = _METRICS[unnormalised]
    if any(
      not reference.get(n) or column not in self.cells.get(n, {})
      for n in COMMON
    ):
      return []
    each = [
      self.cells[n][column][:, self._column(n)] / reference[n] for n in COMMON
    ]
    ids = [self.cells[n]["example_id"] for n in COMMON]
    value = float(np.mean([np.mean(e) for e in each]))
    if any(not np.array_equal(i, ids[0]) for i in ids):
      return [self._row("", metric, value, None, None, None)]
    rng = np.random.default_rng(self.rows[0].seed)
    lo, hi = intervals.bootstrap(np.mean(each, axis=0), rng)
    return [self._row("", metric, value, lo, hi, len(ids[0]))]

  def _column(self, name: str) -> int:
    """Noise has one cell a difficulty, the others one column a difficulty."""
    return 0 if _is_noise(name) else self.difficulty - 1

  def _row(self, corruption, metric, value, lo, hi, n) -> table.Row:
    first = self.rows[0]
    return table.Row(
      model=first.model,
      dataset=first.dataset,
      config="",
      corruption=corruption,
      severity=self.difficulty,
      metric=metric,
      value=value,
      lo=lo,
      hi=hi,
      n=n,
      seed=first.seed,
      fingerprint=_mark(self.rows, self.baseline),
    )


def published_networks(dataset: str) -> dict[str, tuple[float, ...]]:
  """Printed name -> (clean error, mFR)."""
  return published.networks(dataset, "clean_error", "mfr")


def samples(
  image: np.ndarray,
  key: Callable[[Condition], jax.Array],
  wanted: Sequence[Condition],
  edition: str,
) -> dict[tuple[str, int], np.ndarray]:
  """The sequences of one image under every condition, for the strips."""
  out = {}
  for c in wanted:
    if c.corruption:
      made = sequences.sequence(image, c.config, edition=edition, key=key(c))
      out[c.corruption, c.severity] = np.asarray(made)
  return out


def _is_noise(name: str) -> bool:
  return conditions_lib.SEQUENCES.is_noise(name)


def _has(condition: Condition, difficulty: int) -> bool:
  """Whether a cell holds the values of a difficulty."""
  if not condition.corruption:
    return False
  return not _is_noise(condition.corruption) or (
    condition.severity == difficulty
  )


def _clean_error(rows: Sequence[table.Row]) -> list[table.Row]:
  return [
    dataclasses.replace(
      r,
      config="",
      severity=None,
      metric="clean_error",
      fingerprint=_mark([r], ""),
    )
    for r in rows
    if r.metric == "error" and not r.corruption
  ]


def _reference(
  rows: Sequence[table.Row], baseline: str, difficulty: int
) -> dict[str, dict[str, float]]:
  """Normalisers: unnormalised metric -> perturbation -> value."""
  if baseline.startswith("model:"):
    label = baseline.removeprefix("model:")
    out: dict[str, dict[str, float]] = {}
    for r in rows:
      if (
        r.model == label
        and r.metric in _NORMALISERS.values()
        and r.severity == difficulty
      ):
        out.setdefault(r.metric, {})[r.corruption] = r.value
    return out
  if not baseline or difficulty > 1:
    return {}
  found = corruption_error.load_baseline(baseline)
  return {m: found[m] for m in _NORMALISERS.values()}


def _mark(rows: Sequence[table.Row], baseline: str) -> str:
  cells = sorted({r.fingerprint for r in rows})
  return provenance.fingerprint({"cells": cells, "baseline": baseline})
