"""Action recognition under 18 video perturbations (Schiappa et al. 2023).

A model sees some clips of each video; their softmax scores are averaged. Cell
metrics: `accuracy` and `top5_accuracy` with 95 % Clopper-Pearson intervals. Over
the severities of a perturbation: `gamma_a`, `gamma_r`; over a group `gamma_a/noise`
and so on; over the benchmark `clean_accuracy`, `gamma_a`, `gamma_r`, the means of
the groups. Their intervals are bootstrapped over videos. Where videos show a
natural shift (UCF101-DS) there is nothing clean: cells also have
`accuracy/category/...` and `accuracy/shift/...`, the benchmark
`natural_accuracy` and `natural_category_accuracy`, the mean of the categories.
A number some of whose cells are not there is empty, with a note
(`parts/missing_cells`). Definitions: `eval/metrics/action`.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from robust_tfds import conditions
from robust_tfds import corruptions
from robust_tfds import errors
from robust_tfds.conditions import Condition
from robust_tfds.eval.metrics import action
from robust_tfds.eval.metrics import intervals
from robust_tfds.eval.pipeline import clips
from robust_tfds.eval.pipeline import inputs
from robust_tfds.eval.pipeline import predict
from robust_tfds.eval.results import cell as cells_lib
from robust_tfds.eval.results import facts as facts_lib
from robust_tfds.eval.results import table
from robust_tfds.eval.tasks import base
from robust_tfds.eval.tasks.parts import missing_cells
from robust_tfds.eval.tasks.parts import top_k

Metric = facts_lib.Metric
_NATURAL = ("shift", "category")  # features of naturally shifted videos
_SAMPLINGS = ("dense", "uniform")


def _higher(name: str, heading: str) -> facts_lib.Metric:
  return Metric(name, heading, higher_is_better=True)


class Video(base.Task):
  """Accuracy of every cell; gamma_a and gamma_r over them."""

  facts = facts_lib.TaskFacts(
    task="video",
    noun="perturbation",
    headlines=(
      _higher("clean_accuracy", "Clean accuracy"),
      _higher("natural_accuracy", "Accuracy under natural shifts"),
      _higher("natural_category_accuracy", "Mean of the categories"),
      _higher("gamma_a", "gamma_a"),
      _higher("gamma_r", "gamma_r"),
      _higher("gamma_r/noise", "gamma_r, noise"),
      _higher("gamma_r/blur", "blur"),
      _higher("gamma_r/digital", "digital"),
      _higher("gamma_r/temporal", "temporal"),
      _higher("gamma_r/camera", "camera"),
    ),
    details=(_higher("gamma_a", "gamma_a"), _higher("gamma_r", "gamma_r")),
    explanation=(
      "gamma_a: 1 - (clean accuracy - accuracy); gamma_r: accuracy / clean"
      " accuracy; means over severities, then perturbations, then groups."
    ),
  )
  family = conditions.VIDEOS
  model_kind = "video"
  set_kind = "videos"
  clean_config = "source"
  clean_codec = ""
  fly_codecs = ("",)
  per_model = True
  own_keys = ("views", "sampling")
  unit = "clip"
  has_pairs = True

  def __init__(self, setting: base.Setting):
    """Checks the setting; `data` may have `views` and `sampling`.

    Raises:
      UserError: a codec on the fly, an unknown sampling, or views that do not go
        with it.
    """
    super().__init__(setting)
    if setting.fly and setting.codec:
      raise errors.UserError(
        f"data.codec={setting.codec!r} is for prepared videos; on the fly none"
        " is encoded. Leave it empty, or set config.data.source=prepared."
      )
    self._views = setting.data.get("views", 1)
    self._sampling = setting.data.get("sampling", "dense")
    if self._sampling not in _SAMPLINGS:
      raise errors.unknown("data.sampling", self._sampling, _SAMPLINGS)
    if self._views < 1 or (self._sampling == "uniform" and self._views > 1):
      raise errors.UserError(
        "data.views must be at least 1, and 1 with uniform sampling; got"
        f" {self._views}."
      )

  def fingerprint_facts(self) -> dict[str, Any]:
    """Which clips are shown."""
    return {"views": self._views, "sampling": self._sampling}

  def images_per_example(self, condition: Condition) -> int:
    """Clips that a video shows: one a view."""
    return self._views

  def reader(
    self,
    source: inputs.Source,
    conditions: Sequence[Condition],
    specs: Mapping[str, Any],
  ) -> clips.Reader:
    """Every video decoded once."""
    setting = self.setting
    return clips.Reader(
      source,
      # Prepared videos are perturbed already.
      conditions if setting.fly else [Condition()],
      specs,
      seed=setting.seed,
      dataset=setting.dataset,
      edition=setting.edition,
      views=self._views,
      sampling=self._sampling,
    )

  def show(self, mesh: Mesh, specs: Mapping[str, Any]) -> clips.Show:
    """Clips of each model, perturbed and cropped on the devices."""
    setting = self.setting
    return clips.Show(
      mesh,
      specs,
      seed=setting.seed,
      dataset=setting.dataset,
      edition=setting.edition,
      fly=setting.fly,
    )

  def example_columns(self, batch: inputs.Batch) -> dict[str, np.ndarray]:
    """The usual ones, and `shift` and `category` where videos have them."""
    columns = super().example_columns(batch)
    for name in _NATURAL:
      if batch.examples and name in batch.examples[0]:
        texts = [inputs.text(e[name]) for e in batch.examples]
        columns[name] = np.array(texts, np.str_)
    return columns

  def reducer(self, condition: Condition) -> predict.Reduce:
    """The same reduction in every condition."""
    return reduce

  def columns(
    self,
    batch: inputs.Batch,
    outputs: Mapping[str, np.ndarray],
    condition: Condition,
  ) -> dict[str, np.ndarray]:
    """The top-5 of the batch's valid rows."""
    return top_k.columns(batch, outputs)

  def cell_rows(
    self,
    cell: cells_lib.Cell,
    columns: base.Columns,
    truth: Mapping[str, Any] | None = None,
  ) -> list[table.Row]:
    """`accuracy` and `top5_accuracy` of one cell, and those of its shifts."""
    label, top5 = columns["label"][:, None], columns["top5"]
    hits_of = {"accuracy": top5[:, 0] == label[:, 0]}
    if (top5[:, -1] >= 0).all():
      hits_of["top5_accuracy"] = (top5 == label).any(axis=1)
    rows = []
    for metric, hits in hits_of.items():
      ends = intervals.clopper_pearson(int(hits.sum()), len(hits))
      rows.append(cell.row(metric, hits.mean(), ends, len(hits)))
    if "shift" in columns:
      rows += _shift_rows(cell, columns, hits_of["accuracy"])
    return rows

  def pairs(self, columns: base.Columns) -> np.ndarray:
    """The true and the predicted class of every video: int `[N, 2]`."""
    return np.stack([columns["label"], columns["top5"][:, 0]], axis=1)

  def summary_inputs(self, columns: base.Columns) -> np.ndarray:
    """Which videos are right, in the order of their ids."""
    return columns["top5"][:, 0] == columns["label"]

  def summary_rows(
    self, rows: Sequence[table.Row], summary_inputs: base.SummaryInputs
  ) -> list[table.Row]:
    """gamma_a and gamma_r of perturbations, groups and the benchmark."""
    out = []
    for label in dict.fromkeys(r.model for r in rows):
      model_rows = [r for r in rows if r.model == label]
      hits_of = {
        c: hits for (model, c), hits in summary_inputs.items() if model == label
      }
      out += _of_model(model_rows, hits_of)
    return out

  def check_baseline(self, labels: Sequence[str]) -> None:
    """UserError for any: gamma is relative to the model's own clean accuracy."""
    if self.setting.baseline:
      raise errors.UserError(
        f"Video has no baseline model, got {self.setting.baseline!r}: gamma is"
        " relative to the model's own clean accuracy. Leave config.baseline"
        " empty."
      )

  def sample(
    self, pixels: np.ndarray, condition: Condition, example_id: str
  ) -> np.ndarray:
    """One whole video under a condition: uint8 `[T, H, W, 3]`."""
    if condition.clean:
      return pixels
    key = condition.key(self.setting.seed, self.setting.dataset, example_id)
    perturbed = corruptions.perturb_video(
      pixels,
      condition.name,
      condition.level,
      edition=self.setting.edition,
      key=jnp.asarray(key),
    )
    return np.asarray(perturbed)


def reduce(logits: jax.Array) -> dict[str, jax.Array]:
  """Top-5 of the softmax scores averaged over views.

  Args:
    logits: float32 `[B, views, classes]`.
  """
  chance = jax.nn.softmax(logits, axis=-1).mean(axis=1)
  mean = jnp.log(jnp.maximum(chance, 1e-30))
  never = jnp.isneginf(logits).all(axis=1)
  return top_k.reduce(jnp.where(never, -jnp.inf, mean))


def _shift_rows(
  cell: cells_lib.Cell, columns: base.Columns, hits: np.ndarray
) -> list[table.Row]:
  shift, category = (columns[name].tolist() for name in _NATURAL)
  accuracies = action.by_shift(hits, shift, category)
  return [
    cell.row(
      f"accuracy/{kind}/{name}", v["accuracy"], (v["lo"], v["hi"]), int(v["n"])
    )
    for kind, plural in (("category", "categories"), ("shift", "shifts"))
    for name, v in sorted(accuracies[plural].items())
  ]


def _of_model(
  rows: Sequence[table.Row], hits_of: Mapping[Condition, np.ndarray]
) -> list[table.Row]:
  summary, clean = cells_lib.Summary.of(rows), hits_of.get(Condition())
  out = []
  if clean is not None:
    n, accuracy = len(clean), float(clean.mean())
    ends = intervals.clopper_pearson(int(clean.sum()), n)
    by_category = [
      r.value for r in rows if r.metric.startswith("accuracy/category/")
    ]
    if by_category:
      mean = float(np.mean(by_category))
      return [
        summary.row("", "natural_accuracy", accuracy, ends, n),
        summary.row("", "natural_category_accuracy", mean, n=n),
      ]
    out.append(summary.row("", "clean_accuracy", accuracy, ends, n))
  return out + _gamma_rows(missing_cells.Numbers(summary, hits_of), hits_of)


def _gamma_rows(
  numbers: missing_cells.Numbers, hits_of: Mapping[Condition, np.ndarray]
) -> list[table.Row]:
  """gamma_a and gamma_r of perturbations, groups and the benchmark."""
  perturbed = {
    (c.name, c.level): hits for c, hits in hits_of.items() if not c.clean
  }
  clean = hits_of.get(Condition(), np.zeros(0, bool))
  values: dict[str, Any] = {}
  spread: dict[str, Any] = {}
  if perturbed and clean.any():
    values = action.robustness(
      {c: float(hits.mean()) for c, hits in perturbed.items()},
      float(clean.mean()),
    )
    rng = np.random.default_rng(numbers.summary.seed)
    spread = action.robustness_intervals(perturbed, clean, rng)
  why = "" if values else "undefined: the clean accuracy is 0"
  out = []
  for measure in ("gamma_a", "gamma_r"):
    means = _flat(values.get(measure, {}))
    ends = _flat(spread.get(measure, {}))
    for key, members in _averages(dict.fromkeys(n for n, _ in perturbed)):
      kind, of = key
      out += numbers.rows(
        of if kind == "names" else "",
        f"{measure}/{of}" if kind == "groups" else measure,
        means.get(key),
        [Condition(), *missing_cells.needed(conditions.VIDEOS, members)],
        ends.get(key, (None, None)),
        len(clean),
        why=why,
      )
  return out


def _averages(
  names: Iterable[str],
) -> list[tuple[tuple[str, str], Sequence[str]]]:
  """Key of an average -> the perturbations that it is over."""
  family = conditions.VIDEOS
  return [
    *((("names", name), (name,)) for name in names),
    *((("groups", g), family.members(g, "common")) for g in family.groups),
    (("mean", ""), family.names("common")),
  ]


def _flat(averages: Mapping[str, Any]) -> dict[tuple[str, str], Any]:
  """(`names`, name), (`groups`, group) and (`mean`, ``) -> value."""
  return {
    (kind, key): value
    for kind, values in averages.items()
    for key, value in (
      values.items() if isinstance(values, Mapping) else [("", values)]
    )
  }
