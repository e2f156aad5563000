"""Stability over perturbation sequences: ImageNet-P and its like.

An example is a sequence; the model sees its frames one by one. Temporal
perturbations are scored at difficulties 1-3, the distance of the frames that
are compared; noise has harder data instead, one condition each.

Cell metrics, `severity` being the difficulty: `flip_probability`,
`zipf_distance` and, from five classes up, `unnormalised_t5d`; `error` and
calibration (`parts/reliability`) of the clean images. Of one perturbation,
normalised by the baseline: `fr`, `t5d`. Over the benchmark: `clean_error`,
`mean_flip_probability` and `mean_unnormalised_t5d` (plain means over the 10
common perturbations), `mfr` and `mt5d`. Intervals come from draws of the same
pictures in all cells (`eval/metrics/resampling`); a published baseline is a
constant, a model of the run is drawn together with the others. Definitions:
`eval/metrics/stability`. The published baseline is only known at difficulty 1.
A number with missing cells is empty and has a note
(`eval/cells/missing_cells`).
"""

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.metrics import resampling, stability
from eval.pipeline import inputs, predict, programs
from eval.tasks import base
from eval.tasks.headlines import (
  baselines,
  flip_headlines,
  normalised_task,
  spread,
)
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.parts import proper_scores, reliability, top_k
from robust_tfds import conditions
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import batching
from robust_tfds.corruptions.sequence import frame_count

_FAMILY = conditions.SEQUENCES
# Scores (frames x classes) that an accelerator ranks together; two sorts of pairs
# and three differences keep up to 80 bytes of each, 640 MiB.
_SCORES_AT_ONCE = 1 << 23
_COLUMNS = {  # columns of the cells' metrics
  "flip_probability": "flips",
  "unnormalised_t5d": "t5d",
  "zipf_distance": "zipf",
}


class Sequences(normalised_task.NormalisedTask):
  """The task of flip probabilities and rank distances; FR, T5D and their means."""

  facts = facts_lib.TaskFacts.for_task("sequences")
  family = _FAMILY
  set_kind = "sequences"
  clean_config = "source"
  clean_codec = "png"
  fly_codecs = predict.SEQUENCE_CODECS

  def images_per_example(self, condition: Condition) -> int:
    """Return how many frames a sequence has."""
    if condition.clean:
      return 1
    return frame_count(condition.config, self.setting.edition)

  def transform(self, mesh: Mesh) -> predict.Transform:
    """Return what makes the sequences on the devices."""
    return predict.sequencer(mesh, self.setting.edition, self.setting.codec)

  def reducer(self, condition: Condition) -> predict.Reduce:
    """Return the reduction to top-5 of every frame and Zipf distances of every
    sequence.

    Clean images are reduced as in classification.
    """
    if condition.clean:
      return _reduce_clean
    return _reducer(_FAMILY.is_noise(condition.name))

  def columns(
    self,
    batch: inputs.Batch,
    outputs: Mapping[str, np.ndarray],
    condition: Condition,
  ) -> dict[str, np.ndarray]:
    """Return the outputs for the batch's valid rows as prediction columns.

    Besides the usual ones: `top5` int32 `[N, T, 5]`, `score` float32 `[N, T, 5]`,
    and per sequence and difficulty `[N, D]` float64 `flips` (the part of its
    pairs that flip), `t5d` and float32 `zipf`; of clean images float32 `[N]`
    `nll` and `brier`.
    """
    columns = top_k.columns(batch, outputs)
    if condition.clean:
      return columns
    noise = _FAMILY.is_noise(condition.name)
    zipf = outputs["zipf"][batch.mask]
    return {**columns, **_pair_columns(columns["top5"], noise), "zipf": zipf}

  def cell_rows(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> list[table.Row]:
    """Return a row for each metric and difficulty; for clean images the errors."""
    if cell.condition.clean:
      label, top5 = columns["label"], columns["top5"][:, 0]
      clean = top_k.error_rows(cell, label, top5, self.group_ids(columns))
      return [*clean, *reliability.rows(cell, columns, self.facts.task)]
    groups = self.group_ids(columns)
    draws = resampling.Draws.from_groups(groups)
    out = []
    for metric, number in self.replicates(columns, draws).items():
      bounds = self.facts.metric(metric).bounds
      for i, joined in enumerate(number.joined):
        shown = spread.number(number.like(joined), bounds)
        value, ends, level = (
          float(joined[0]),
          (shown.lo, shown.hi),
          cell.level + i,
        )
        row = cell.row(metric, value, ends, len(groups), level=level)
        out.append(row.add_note(shown.note))
    return out

  def totals(self, columns: base.Columns) -> dict[str, resampling.Totals]:
    """Return the cell's metrics, a column per difficulty; for clean images `error`."""
    groups = self.group_ids(columns)
    if "flips" not in columns:
      wrong = columns["top5"][:, 0, 0] != columns["label"]
      return {"error": resampling.Totals.from_values(wrong, groups)}
    return {
      metric: resampling.Totals.from_values(columns[column], groups)
      for metric, column in _COLUMNS.items()
      if column in columns
    }

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return FR, T5D and their means, see `headlines/flip_headlines`."""
    label = baselines.model_label(self.setting.baseline)
    return flip_headlines.headlines(cells, reference, published=not label)

  def published_cells(
    self, published: Mapping[str, Any]
  ) -> headlines_lib.Reference:
    """Return the printed numbers of a baseline, at difficulty 1."""
    return flip_headlines.published_cells(published)


@programs.cached
def _reducer(noise: bool) -> predict.Reduce:
  def reduce(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
    # [B, T, classes]; rankings over all classes never leave the device.
    distances = functools.partial(_zipf_distances, noise=noise)
    at_once = max(1, _SCORES_AT_ONCE // (logits.shape[1] * logits.shape[2]))
    zipf = batching.over_batch(distances, logits, at_once=at_once)
    return {**top_k.best(logits), "zipf": zipf}

  return reduce


def _reduce_clean(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
  """Return top-5 `[B, 1, 5]`, NLL and Brier score `[B]` of the only frame."""
  frame_logits = logits.reshape(len(logits), -1)
  scores = proper_scores.from_logits(frame_logits, labels)
  return {**top_k.best(logits), **scores}


def _zipf_distances(logits: jax.Array, noise: bool) -> jax.Array:
  """Return the mean distances of a sequence `[T, classes]` at each difficulty:
  `[D]`.
  """
  ranked = jnp.argsort(logits, axis=-1, stable=True, descending=True)
  place = jnp.argsort(ranked, axis=-1)
  weight = 1 / jnp.arange(1, logits.shape[-1] + 1, dtype=jnp.float32)

  def mean(earlier: jax.Array, later: jax.Array) -> jax.Array:
    sigma = jnp.take_along_axis(later, earlier, axis=-1)
    return (weight * jnp.abs(weight - weight[sigma])).sum(-1).mean()

  if noise:
    first = jnp.broadcast_to(ranked[:1], ranked[1:].shape)
    return mean(first, place[1:])[None]
  return jnp.stack(
    [mean(ranked[:-d], place[d:]) for d in conditions.DIFFICULTIES]
  )


def _pair_columns(top5: np.ndarray, noise: bool) -> dict[str, np.ndarray]:
  """Return `flips` and, from five classes up, `t5d`: float64 `[N, D]`.

  Args:
    top5: int `[N, T, 5]`.
    noise: whether to compare with the first frame, at one difficulty per cell.
  """
  difficulties = (1,) if noise else conditions.DIFFICULTIES
  pairs = {
    "flips": [stability.flips(top5[..., 0], noise, d) for d in difficulties]
  }
  if top5.min(initial=0) >= 0:
    pairs["t5d"] = [
      stability.top5_distances(top5, noise, d) for d in difficulties
    ]
  return {
    name: np.stack([v.mean(axis=1, dtype=np.float64) for v in values], axis=1)
    for name, values in pairs.items()
  }
