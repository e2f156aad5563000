"""Action recognition under 18 video perturbations (Schiappa et al. 2023).

A model sees some clips of each video; their softmax scores are averaged. Cell
metrics: `accuracy` and `top5_accuracy` with 95 % intervals
(`eval/metrics/rates`). Over the severities of a perturbation: `gamma_a`,
`gamma_r`; over a group `gamma_a/noise` and so on; over the benchmark
`clean_accuracy`, `gamma_a`, `gamma_r`, the means of the groups. Their intervals
come from draws of whole groups of clips, the same in all cells and in the clean
one. Videos with a natural shift (UCF101-DS) have no clean cell: their cells
also have `accuracy/category/...` and `accuracy/shift/...`, the benchmark
`natural_accuracy` and `natural_category_accuracy`, the mean of the categories.
Calibration: `parts/reliability`, means over the perturbations without groups. A
number with missing cells is empty and has a note (`eval/cells/missing_cells`).
Definitions: `eval/metrics/action`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval.cells import cell as cells_lib
from eval.cells import facts as facts_lib
from eval.cells import table
from eval.cells.cell_facts import Scalar
from eval.metrics import action, resampling
from eval.pipeline import clips, inputs, predict
from eval.tasks import base
from eval.tasks.headlines import gamma_headlines, spread
from eval.tasks.headlines import headlines as headlines_lib
from eval.tasks.parts import proper_scores, reliability, top_k
from robust_tfds import conditions, corruptions, datasets, errors, strings
from robust_tfds.conditions import Condition

_NATURAL = ("shift", "category")  # features of naturally shifted videos
_CATEGORY = "accuracy/category/"
_SAMPLINGS = ("dense", "uniform")


class Video(base.Task):
  """The video task: accuracy of every cell; gamma_a and gamma_r over them."""

  facts = facts_lib.TaskFacts.for_task("video")
  family = conditions.VIDEOS
  model_kind = "video"
  set_kind = "videos"
  clean_config = "source"
  clean_codec = ""
  fly_codecs = ("",)
  per_model = True
  own_keys: ClassVar[tuple[str, ...]] = ("views", "sampling", "groups")
  unit = "clip"
  has_pairs = True
  averages_answers = True
  no_baseline = (
    "Video has no baseline model, got {got}: gamma is relative to the model's own"
    " clean accuracy. Leave config.baseline empty."
  )

  def __init__(self, setting: base.Setting):
    """Check the setting; `data` may have `views` and `sampling`.

    Raises:
      UserError: a codec on the fly, an unknown sampling, or views that do not
        fit it.
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
      raise errors.unknown_error("data.sampling", self._sampling, _SAMPLINGS)
    if self._views < 1 or (self._sampling == "uniform" and self._views > 1):
      raise errors.UserError(
        "data.views must be at least 1, and 1 with uniform sampling; got"
        f" {self._views}."
      )

  def data_facts(self) -> dict[str, Scalar]:
    """Return which clips are shown."""
    return {"views": self._views, "sampling": self._sampling}

  def images_per_example(self, condition: Condition) -> int:
    """Return the number of clips per video: one per view."""
    return self._views

  def reader(
    self,
    source: inputs.Source,
    conditions: Sequence[Condition],
    specs: Mapping[str, Any],
  ) -> clips.Reader:
    """Return the reader, which decodes every video once."""
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
    """Return the show: clips of each model, perturbed and cropped on the devices."""
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
    """Return the usual columns, and `shift` and `category` if videos have them."""
    columns = super().example_columns(batch)
    for name in _NATURAL:
      if batch.examples and name in batch.examples[0]:
        texts = [strings.text(e[name]) for e in batch.examples]
        columns[name] = np.array(texts, np.str_)
    return columns

  def reducer(self, condition: Condition) -> predict.Reduce:
    """Return the reduction, which is the same in every condition."""
    return reduce

  def cell_rows(
    self, cell: cells_lib.Cell, columns: base.Columns, truth: base.Truth = None
  ) -> list[table.Row]:
    """Return accuracies of one cell, those of its shifts, and its calibration."""
    groups = self.group_ids(columns)
    right = top_k.hits_by_rank(columns["label"], columns["top5"])
    hits = {
      f"{name}accuracy": hits_of_name for name, hits_of_name in right.items()
    }
    rows = top_k.rate_rows(cell, hits, groups)
    if "shift" in columns:
      rows += _shift_rows(cell, columns, hits["accuracy"], groups)
    elif self.setting.dataset not in datasets.names():
      values = top_k.class_accuracies(columns)
      rows.append(
        reliability.mean_row(cell, top_k.MEAN_CLASS_ACCURACY, values, groups)
      )
    return [*rows, *reliability.rows(cell, columns, self.facts.task)]

  def pairs(self, columns: base.Columns) -> np.ndarray:
    """Return the true and the predicted class of every video: int `[N, 2]`."""
    return np.stack([columns["label"], columns["top5"][:, 0]], axis=1)

  def totals(self, columns: base.Columns) -> dict[str, resampling.Totals]:
    """Return `accuracy`, and that of each category of natural shifts."""
    groups = self.group_ids(columns)
    hits = columns["top5"][:, 0] == columns["label"]
    out = {"accuracy": resampling.Totals.from_values(hits, groups)}
    if self.setting.dataset not in datasets.names() and "shift" not in columns:
      values = top_k.class_accuracies(columns)
      out[top_k.MEAN_CLASS_ACCURACY] = resampling.Totals.from_values(
        values, groups
      )
    for name in np.unique(columns.get("category", [])).tolist():
      inside = columns["category"] == name
      totals = resampling.Totals.from_values(hits[inside], groups[inside])
      out[_CATEGORY + name] = totals
    return out

  def headlines(
    self, cells: headlines_lib.Cells, reference: headlines_lib.Cells
  ) -> list[headlines_lib.Headline]:
    """Return gamma_a, gamma_r and their means; accuracies of natural shifts."""
    clean = Condition()
    categories = [m for m in cells.get(clean, ()) if m.startswith(_CATEGORY)]
    if not categories:
      own = headlines_lib.Headline.restating(
        "clean_accuracy", "accuracy", clean
      )
      rest = [*gamma_headlines.headlines(cells), *top_k.class_headlines(cells)]
      return [own, *rest]
    return [
      headlines_lib.Headline.restating("natural_accuracy", "accuracy", clean),
      headlines_lib.Headline(
        "natural_category_accuracy",
        ("accuracy", *categories),
        (clean,),
        lambda ours, _: np.mean([ours[clean][m] for m in categories], axis=0),
        disjoint_parts=True,
      ),
    ]

  def sample(
    self, pixels: np.ndarray, condition: Condition, example_id: str
  ) -> np.ndarray:
    """Return one whole video under a condition: uint8 `[T, H, W, 3]`."""
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


def reduce(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
  """Return top-5, NLL and Brier score of the softmax scores averaged over views.

  Args:
    logits: float32 `[B, views, classes]`.
    labels: int32 `[B]`, the true classes.
  """
  chance = jax.nn.softmax(logits, axis=-1).mean(axis=1)
  mean = jnp.log(jnp.maximum(chance, 1e-30))
  never = jnp.isneginf(logits).all(axis=1)
  best = top_k.best(jnp.where(never, -jnp.inf, mean))
  return {**best, **proper_scores.from_views(logits, labels)}


def _shift_rows(
  cell: cells_lib.Cell,
  columns: base.Columns,
  hits: np.ndarray,
  groups: np.ndarray,
) -> list[table.Row]:
  shift, category = (columns[name].tolist() for name in _NATURAL)
  accuracies = action.shift_accuracies(hits, shift, category, groups)
  return [
    spread.rate_row(
      cell,
      f"accuracy/{kind}/{name}",
      (v["accuracy"], v["lo"], v["hi"]),
      int(v["n"]),
    )
    for kind, plural in (("category", "categories"), ("shift", "shifts"))
    for name, v in sorted(accuracies[plural].items())
  ]
