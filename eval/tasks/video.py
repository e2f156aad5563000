"""Action recognition under 18 video perturbations (Schiappa et al. 2023).

A model sees some clips of each video; their softmax scores are averaged. Cell
metrics: `accuracy` and `top5_accuracy` with 95 % Clopper-Pearson intervals. Over
the severities of a perturbation: `gamma_a`, `gamma_r`; over a group `gamma_a/noise`
and so on; over the benchmark `clean_accuracy`, `gamma_a`, `gamma_r`, the means of
the groups. Their intervals are bootstrapped over videos. Where videos show a
natural shift (UCF101-DS) there is nothing clean: cells also have
`accuracy/category/...` and `accuracy/shift/...`, the benchmark
`natural_accuracy` and `natural_category_accuracy`, the mean of the categories.
Definitions: `eval/metrics/action`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval import clips
from eval import inputs
from eval import predict
from eval import provenance
from eval import table
from eval.metrics import action
from eval.metrics import intervals
from eval.tasks import Cell
from eval.tasks import Condition
from eval.tasks import classification
from eval.tasks import unknown
from robust_tfds import corruptions
from robust_tfds.corruptions import spec

COMMON = action.ALL
FLY = ("source", "")
KIND = "video"  # of its models
_FOLDER = "video"
_NATURAL = ("shift", "category")


def conditions(data: Any) -> list[Condition]:
  """Clean, then every perturbation at every severity that `data` names.

  Args:
    data: has `perturbations` (`all`, `none`, groups or names separated by commas),
      `severities`, and may have `views`, `sampling`, `source` and `codec`.

  Raises:
    ValueError: an unknown name (with a suggestion), a severity outside 1-5, or a
      codec on the fly.
  """
  if data.get("source") == "fly" and data.get("codec"):
    raise ValueError(
      f"data.codec={data.codec!r} is for prepared videos; on the fly none is"
      " encoded. Leave it empty, or set config.data.source=prepared."
    )
  sampling, views = data.get("sampling", "dense"), data.get("views", 1)
  if sampling not in ("dense", "uniform"):
    raise unknown("data.sampling", sampling, ("dense", "uniform"))
  if views < 1 or (sampling == "uniform" and views > 1):
    raise ValueError(
      f"data.views must be at least 1, and 1 with uniform sampling; got {views}."
    )
  severities = data.severities
  listed = [severities] if isinstance(severities, int) else list(severities)
  for severity in listed:
    spec.check_severity(severity)
  return [Condition()] + [
    Condition(name, severity)
    for name in _names(data.perturbations)
    for severity in sorted(set(listed))
  ]


def groups(names: Sequence[str]) -> dict[str, str]:
  """`noise`, `blur`, `digital`, `temporal` or `camera` of every name."""
  return {n: spec.module(n, _FOLDER).INFO.group for n in names}


def frames(condition: Condition, edition: str) -> int:
  """Clips are counted as one."""
  del condition, edition
  return 1


def per_model(
  source: Any, condition: Condition, model_spec: Any, plan: Any
) -> clips.Clips:
  """The source as clips of one model: it replaces `transform`."""
  fly = plan.config.data.source == "fly"
  return clips.Clips(
    source,
    condition if fly else Condition(),  # prepared videos are perturbed already
    model_spec,
    seed=plan.seed,
    dataset=plan.dataset,
    edition=plan.edition,
    views=plan.config.data.views,
    sampling=plan.config.data.get("sampling", "dense"),
  )


def transform(where: Mesh, edition: str, codec: str) -> predict.Transform:
  """Clips come perturbed already."""
  del where, edition, codec
  return lambda images, sizes, condition, keys: images


def reducer(condition: Condition) -> predict.Reduce:
  """The same reduction in every condition."""
  del condition
  return reduce


def reduce(logits: jax.Array) -> dict[str, jax.Array]:
  """Top-5 of the softmax scores averaged over views.

  Args:
    logits: float32 `[B, views, classes]`.
  """
  chance = jax.nn.softmax(logits, axis=-1).mean(axis=1)
  return classification.reduce(jnp.log(jnp.maximum(chance, 1e-30)))


def columns(
  batch: Any, outputs: Mapping[str, np.ndarray], condition: Condition
) -> dict[str, np.ndarray]:
  """The batch's valid rows as predictions' columns.

  Those of `classification`, and `shift` and `category` where videos have them.
  """
  out = classification.columns(batch, outputs, condition)
  for name in _NATURAL:
    if batch.examples and name in batch.examples[0]:
      out[name] = np.array([inputs.text(e[name]) for e in batch.examples])
  return out


def cell_rows(
  cell: Cell, predicted: Mapping[str, np.ndarray]
) -> list[table.Row]:
  """`accuracy` and `top5_accuracy` of one cell, and those of its shifts."""
  label, top5 = predicted["label"][:, None], predicted["top5"]
  right = {"accuracy": top5[:, 0] == label[:, 0]}
  if (top5[:, -1] >= 0).all():
    right["top5_accuracy"] = (top5 == label).any(axis=1)
  rows = []
  for metric, hits in right.items():
    lo, hi = intervals.clopper_pearson(int(hits.sum()), len(hits))
    rows.append((metric, float(hits.mean()), float(lo), float(hi), len(hits)))
  if "shift" in predicted:
    shift, category = (predicted[name].tolist() for name in _NATURAL)
    found = action.by_shift(right["accuracy"], shift, category)
    for kind, named in (("category", "categories"), ("shift", "shifts")):
      rows += [
        (
          f"accuracy/{kind}/{name}",
          v["accuracy"],
          v["lo"],
          v["hi"],
          int(v["n"]),
        )
        for name, v in sorted(found[named].items())
      ]
  return [
    table.Row(**vars(cell), metric=metric, value=value, lo=lo, hi=hi, n=n)
    for metric, value, lo, hi, n in rows
  ]


def pairs(predicted: Mapping[str, np.ndarray]) -> np.ndarray:
  """The true and the predicted class of every video: int `[N, 2]`."""
  return np.stack([predicted["label"], predicted["top5"][:, 0]], axis=1)


def keep(predicted: Mapping[str, np.ndarray]) -> np.ndarray:
  """Which videos are right, in the order of their ids."""
  return predicted["top5"][:, 0] == predicted["label"]


def check_baseline(baseline: str, labels: Sequence[str]) -> None:
  """ValueError for any: gamma is relative to the model's own clean accuracy."""
  del labels
  if baseline:
    raise ValueError(
      f"Video has no baseline model, got {baseline!r}: gamma is relative to the"
      " model's own clean accuracy. Leave config.baseline empty."
    )


def summary_rows(
  rows: Sequence[table.Row],
  baseline: str,
  order: Sequence[str],
  kept: Mapping[tuple[str, Condition], np.ndarray],
) -> list[table.Row]:
  """gamma_a and gamma_r of perturbations, groups and the benchmark."""
  del baseline, order
  out = []
  for label in dict.fromkeys(r.model for r in rows):
    own = [r for r in rows if r.model == label]
    clean = kept[label, Condition()]
    correct = {
      (c.corruption, c.severity): right
      for (model, c), right in kept.items()
      if model == label and c.corruption
    }
    out += _of_model(own, clean, correct)
  return out


def published_networks(dataset: str) -> dict[str, tuple[float, ...]]:
  """None: the paper prints no plain accuracies."""
  del dataset
  return {}


def samples(
  image: np.ndarray,
  key: Callable[[Condition], jax.Array],
  wanted: Sequence[Condition],
  edition: str,
) -> dict[tuple[str, int], np.ndarray]:
  """One video under every condition: uint8 `[T, H, W, 3]`."""
  out = {("", 0): image}
  for c in wanted:
    if c.corruption:
      made = corruptions.perturb_video(
        image, c.corruption, c.severity, edition=edition, key=key(c)
      )
      out[c.corruption, c.severity] = np.asarray(made)
  return out


def _names(wanted: Any) -> tuple[str, ...]:
  if wanted == "all":
    return corruptions.video_names()
  if wanted in ("", "none"):
    return ()
  listed = wanted.split(",") if isinstance(wanted, str) else list(wanted)
  chosen: set[str] = set()
  for name in (w.strip() for w in listed):
    if name in action.GROUPS:
      chosen |= set(corruptions.video_names(name))
    elif name in corruptions.video_names():
      chosen.add(name)
    else:
      known = [*action.GROUPS, *corruptions.video_names()]
      raise unknown("video perturbation", name, known)
  return tuple(n for n in corruptions.video_names() if n in chosen)


def _of_model(own, clean, correct) -> list[table.Row]:
  accuracy = float(clean.mean())
  first = own[0]
  mark = provenance.fingerprint({"cells": sorted({r.fingerprint for r in own})})

  def row(name, metric, value, ends=(None, None)):
    return table.Row(
      model=first.model,
      dataset=first.dataset,
      config="",
      corruption=name,
      severity=None,
      metric=metric,
      value=value,
      lo=ends[0],
      hi=ends[1],
      n=len(clean),
      seed=first.seed,
      fingerprint=mark,
    )

  low, high = intervals.clopper_pearson(int(clean.sum()), len(clean))
  ends = float(low), float(high)
  by_category = [
    r.value for r in own if r.metric.startswith("accuracy/category/")
  ]
  if by_category:
    mean = float(np.mean(by_category))
    return [
      row("", "natural_accuracy", accuracy, ends),
      row("", "natural_category_accuracy", mean),
    ]
  out = [row("", "clean_accuracy", accuracy, ends)]
  if not correct or not accuracy:
    return out
  found = action.robustness(
    {c: float(r.mean()) for c, r in correct.items()}, accuracy
  )
  rng = np.random.default_rng(first.seed)
  spread = action.robustness_intervals(correct, clean, rng)
  for measure in ("gamma_a", "gamma_r"):
    value, end = found[measure], spread[measure]
    for name in value["names"]:
      out.append(row(name, measure, value["names"][name], end["names"][name]))
    for group in value["groups"]:
      out.append(
        row(
          "",
          f"{measure}/{group}",
          value["groups"][group],
          end["groups"][group],
        )
      )
    if not found["missing"]:
      out.append(row("", measure, value["mean"], end["mean"]))
  return out
