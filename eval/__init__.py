"""The evaluator: commands, runs, tasks, metrics, reports.

>>> from eval import evaluate
>>> result = evaluate(predict, "imagenet_c", manual_dir="/data/imagenet")
... # doctest: +SKIP
>>> result.summary["mce"]  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
  from robust_tfds.eval.run.evaluation import Result
  from robust_tfds.models.model import Model

if __name__ == "eval":  # in a clone: a second name of the same modules
  from robust_tfds import short_names

  short_names.alias(__name__)


def evaluate(
  predict: str | Model | Callable[..., Any] | Mapping[str, Any],
  dataset: Any,
  *,
  conditions: str | Sequence[str] | None = None,
  severities: int | Sequence[int] = (1, 2, 3, 4, 5),
  limit: int = 0,
  workdir: str | os.PathLike[str] | None = None,
  batch_size: int = 64,
  variables: Any = None,
  checkpoint: str | os.PathLike[str] | None = None,
  seed: int = 0,
  baseline: str | None = None,
  name: str = "",
  size: int | None = None,
  classes: Any = None,
  **data: Any,
) -> Result:
  """Evaluates a model on a benchmark: the run of `eval.main`, as a function.

  Args:
    predict: a model of `models.adapters` or `models.get`; a name that
      `models.get` takes, also `my_module:build`; or a plain function on the
      host, from numpy uint8 `[B, H, W, 3]` (of videos clips `[B, 8, H, W, 3]`,
      8 source frames apart) to real logits `[B, classes]`, of detection from one
      picture `[h, w, 3]` to a dict of `boxes`, `scores`, `classes`. Several of
      them by their labels: `{"a": net1, "b": net2}`.
    dataset: a corrupted, perturbed or natural set, e.g. `imagenet_c`,
      `imagenet_a`, or data of your own, e.g. `folder:/data/pets`:
      docs/OWN_DATA.md.
    conditions: `common`, `extra`, `all`, `none` (clean alone), a group, a name,
      or several of them; None: `common`, of natural sets `none`.
    severities: of corruptions and of video perturbations; sequences have
      `difficulties=` instead.
    limit: only so many examples; 0: all.
    workdir: the run's folder, where it also continues; None: a temporary one,
      which is removed with the result.
    batch_size: pictures that the model is shown at once; a sequence, a video or
      a scene counts as eight. Rounded up to a multiple of the devices.
    variables: weights of a model of the catalogue.
    checkpoint: or the file that has them, as `models.convert.load` takes it.
    baseline: what normalised numbers are divided by: a name in
      `eval/papers/baselines`, or empty; None: the benchmark's own.
    name: what tables and example keys call data of your own; default: the last
      part of their place.
    size: side of the square pictures or frames that a plain function is shown,
      px, after ImageNet's crop in proportion (your own pictures that all have
      it as they are stored); None: 224.
    classes: what the models' outputs stand for where they are not the set's
      classes in its order: names, one an output, or a file of them.
    **data: further keys of `config.data`, e.g. `manual_dir="/data/imagenet"`,
      `geometry="model"`, `codec="raw"`, `data_dir=` (where the prepared set is
      kept for the next call).

  Returns:
    The table, the summary, what is missing of it, and the reports.

  Raises:
    UserError: an argument, model or data set that cannot be used, in words;
      finished cells of a workdir stay.
  """
  from robust_tfds import tensorflow_lines

  tensorflow_lines.leave_out()
  from robust_tfds.eval.run import evaluation

  return evaluation.evaluate(
    predict,
    dataset,
    evaluation.Options(
      conditions=conditions,
      severities=severities,
      limit=limit,
      workdir=workdir,
      batch_size=batch_size,
      variables=variables,
      checkpoint=checkpoint,
      seed=seed,
      baseline=baseline,
      name=name,
      size=size,
      classes=classes,
      data=data,
    ),
  )
