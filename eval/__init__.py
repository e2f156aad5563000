"""The evaluator: commands, runs, tasks, metrics, reports.

>>> from robust_tfds import evaluate
>>> result = evaluate(predict, "imagenet_c", manual_dir="/data/imagenet")
... # doctest: +SKIP
>>> result.summary["mce"]  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from robust_tfds import errors

if TYPE_CHECKING:
  from eval.run.evaluation import Result
  from models.model import Model


@errors.without_traceback
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
  prompts: str | os.PathLike[str] | Sequence[str] | None = None,
  class_names: Any = None,
  outputs: str = "auto",
  allow_random: bool = False,
  adapt: str | Mapping[str, Any] | None = None,
  matrix: str | os.PathLike[str] | None = None,
  difficulty: str = "medium",
  speed: int = 1000,
  stream_seed: int = 43,
  geometry: str | None = None,
  label_space: str | os.PathLike[str] | None = None,
  labels: str | os.PathLike[str] | None = None,
  skip_errors: bool | None = None,
  drop_alpha: bool | None = None,
  images: str | os.PathLike[str] | None = None,
  groups: str | None = None,
  split: str | None = None,
  subset: str | os.PathLike[str] | None = None,
  perturbations: str | Sequence[str] | None = None,
  difficulties: int | Sequence[int] | None = None,
  left_out: str | Sequence[str] | None = None,
  views: int | None = None,
  sampling: str | None = None,
  merge: str | None = None,
  rules: str | None = None,
  config: str | None = None,
  source: str | None = None,
  codec: str | None = None,
  data_dir: str | os.PathLike[str] | None = None,
  manual_dir: str | os.PathLike[str] | None = None,
  frost_dir: str | os.PathLike[str] | None = None,
  file_format: str | None = None,
  block_mib: int | None = None,
  ignore: int | None = None,
  protocol: str | None = None,
  keep_masks: bool | None = None,
  metric: Any = None,
  targets: Any = None,
  target: str | None = None,
  better: str | Mapping[str, str] | None = None,
  keep_outputs: bool = False,
  **unknown: Any,
) -> Result:
  """Evaluate a model on a benchmark: the run of `eval.main`, as a function.

  Args:
    predict: a model of `models.adapters` or `models.get`; a name that
      `models.get` takes, also `my_module:build`; or a plain function on the
      host, from numpy uint8 `[B, H, W, 3]` (for videos clips `[B, 8, H, W, 3]`,
      8 source frames apart) to real logits `[B, classes]`; for detection from one
      picture `[h, w, 3]` to a dict of `boxes`, `scores`, `classes`; for
      segmentation to logits `[B, h, w, classes]` or class ids `[B, H, W]`.
      Several of them by their labels: `{"a": net1, "b": net2}`.
    dataset: a corrupted, perturbed or natural set, e.g. `imagenet_c`,
      `imagenet_a`, or data of your own, e.g. `folder:/data/pets`:
      docs/OWN_DATA.md.
    conditions: `common`, `extra`, `all`, `none` (clean alone), a family, a
      name, or several of them; None: `common`, for natural sets `none`.
    severities: levels of corruptions and of video perturbations; sequences have
      `difficulties=` instead.
    limit: number of examples; 0: all.
    workdir: the run's folder, where it also continues; None: a temporary one,
      which is removed with the result.
    batch_size: pictures that the model is shown at once; a sequence, a video or
      a scene counts as eight. Rounded up to a multiple of the devices.
    variables: weights of a model of the catalogue.
    checkpoint: the file of the weights, as `models.convert.load` takes it.
    baseline: what normalised numbers are divided by: a name in
      `eval/papers/baselines`, or empty; None: the benchmark's own.
    name: what tables and example keys call data of your own; default: the last
      part of their place.
    size: side of the square pictures or frames that a plain function is shown,
      px, after ImageNet's crop in proportion (your own pictures uncropped if all
      have that size); None: 224.
    classes: classes of the models' outputs, if they are not the set's in its
      order: one name per output, or a file of them. For `masks:` the names of
      the ids 0, 1, ... in the masks.
    prompts: what a CLIP model's text tower reads of each class:
      `openai80`, `openai80-clean` (without prompts that name a corruption),
      `openai7`, `single`, a file of templates, or templates with one `{}`.
    class_names: words for the set's classes in prompts: `{class: words}`, or a
      file with `class<TAB>words` a line. None: the set's own names, for ImageNet
      open_clip_torch's curated ones.
    outputs: what a classifier returns: `logits`, `probabilities`, or `auto`: as
      its spec says; for a plain function, as its answers to a probe look.
    allow_random: accept models with random answers; they must depend on the
      input and chance alone.
    adapt: a method of `models.adaptation.names()` by which the model adapts while
      it is tested, or a dict: `{"method": "tent", "setting": "continual"}`, see
      docs/ADAPTATION.md. Its `batch_size` and `seed` override those here.
    matrix: for the streams `imagenet_ccc` and `signs_ccc`, the file with the
      accuracies that their paths follow: docs/BENCHMARKS.md. `limit=0` is the
      whole stream of 7.5 million pictures; the result is a
      `eval.run.ccc.evaluation.Result`.
    difficulty: a stream's, `easy`, `medium` or `hard`.
    speed: number of a stream's pictures until the severities change.
    stream_seed: seed of a stream; the paper's are 43, 44 and 45.
    geometry: the crop before corruptions, by the set's names: `model` (each
      model's own), `none` (whole pictures), ...
    label_space: classes among which a model's answer is chosen: `all`: all its
      own, not only the set's; for frames and natural sets their maps.
    labels: for `folder:` and `videos:`, a CSV with the columns `path` and
      `label`, in place of class folders.
    skip_errors: leave out files that cannot be read, and count them.
    drop_alpha: ignore transparency in `folder:` pictures; else it is refused.
    images: for `coco:`, the folder of the pictures.
    groups: for `videos:`, a regular expression that names the uncut video.
    split: the split of a TFDS set or of a benchmark that has several.
    subset: name of a list of examples, or a file of their ids.
    perturbations: for your own pictures, ImageNet-P's sequences; for videos
      as `conditions`.
    difficulties: difficulties of sequences, 1 to 3.
    left_out: corruptions to skip; `absent`: those without files.
    views: number of clips of a video.
    sampling: how clips are sampled, `dense` or `uniform`.
    merge: for frames, how classes are merged.
    rules: for detection, which benchmark's rules of AP.
    config: config of the data set, if it has several.
    source: `fly`, or `prepared`: read corrupted pictures from a built set.
    codec: codec of the pixels: `raw`, `jpeg85`, `published`, ...
    data_dir: where prepared sets lie, and are kept for the next call.
    manual_dir: where archives lie that have to be downloaded by hand.
    frost_dir: where frost's pictures lie.
    file_format: format of prepared sets, `array_record` or `tfrecord`.
    block_mib: memory for decoded pixels, MiB.
    ignore: for `masks:`, the id of pixels that do not count; None: 255.
    protocol: for segmentation, the cells and pixels: `kamann_rother_16`,
      `fan_19`, `semsegbench_15`; None: all 15 at 5 severities, whole, in RGB.
    keep_masks: for segmentation, whether cells keep every answered class map.
    metric: a function of yours, `f(output, target) -> float` of one example,
      or name -> function; in commands `my_module:f`. A cell's number is the mean
      over its examples: per-example means only, which mIoU and AP are not.
      `predict` then answers with arrays of any shape `[B, ...]`, or dicts and
      tuples of them, and a plain function is shown whole pictures where `size` is
      None: docs/OWN_METRIC.md.
    targets: the metric's targets by example id: a mapping, a `.json` or `.csv`
      file, `folder:PATH` of `.npy`, pictures or `.json` beside, a function of the
      id, or `tfds:FEATURE`; None: the metric gets None.
    target: `clean`: the target is the model's own answer to the clean picture.
    better: whether `lower` or `higher` values are better, or name -> which.
    keep_outputs: keep the answers, so that a changed metric needs no model.
    **unknown: refused, with the nearest name.

  Returns:
    The table, the summary, what is missing of it, and the reports.

  Raises:
    UserError: an argument, model or data set that cannot be used, in words;
      finished cells of a workdir stay.
  """
  given = dict(locals())
  from robust_tfds import tensorflow_lines

  tensorflow_lines.leave_out()
  from eval.run import evaluation

  for keyword in given.pop("unknown"):
    raise errors.unknown_error("keyword of evaluate", keyword, [*given][2:])
  del given["predict"], given["dataset"]
  return evaluation.evaluate(predict, dataset, given)
