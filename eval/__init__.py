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
      host, from numpy uint8 `[B, H, W, 3]` (of videos clips `[B, 8, H, W, 3]`,
      8 source frames apart) to real logits `[B, classes]`, of detection from one
      picture `[h, w, 3]` to a dict of `boxes`, `scores`, `classes`, of
      segmentation to logits `[B, h, w, classes]` or class ids `[B, H, W]`.
      Several of them by their labels: `{"a": net1, "b": net2}`.
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
      classes in its order: names, one an output, or a file of them. Of
      `masks:` the names of the ids 0, 1, ... in the masks.
    prompts: of a CLIP model, what its text tower reads of each class:
      `openai80`, `openai80-clean` (without prompts that name a corruption),
      `openai7`, `single`, a file of templates, or templates with one `{}`.
    class_names: words for the set's classes in prompts: `{class: words}`, or a
      file with `class<TAB>words` a line. None: the set's own names, of ImageNet's
      classes open_clip_torch's curated ones.
    outputs: what a classifier answers with: `logits`, `probabilities`, or `auto`:
      as its spec says, of a plain function what its answers to a probe are.
    allow_random: take models that draw; what they answer must depend on the
      input and chance alone.
    adapt: a method of `models.adaptation.names()` by which the model adapts while
      it is tested, or a dict: `{"method": "tent", "setting": "continual"}`, see
      docs/ADAPTATION.md. Its `batch_size` and `seed` stand above those here.
    matrix: of the streams `imagenet_ccc` and `signs_ccc`, the file with the
      accuracies that their paths follow: docs/BENCHMARKS.md. `limit=0` is the
      whole stream of 7.5 million pictures; the result is a
      `eval.run.ccc.evaluation.Result`.
    difficulty: of a stream, `easy`, `medium` or `hard`.
    speed: of a stream, pictures until the severities change.
    stream_seed: of a stream; the paper's are 43, 44 and 45.
    geometry: the crop before corruptions, by the set's names: `model` (each
      model's own), `none` (whole pictures), ...
    label_space: classes that a model is asked among: `all` its own, not the
      set's alone; of frames and natural sets their maps.
    labels: of `folder:` and `videos:`, a CSV with the columns `path` and
      `label`, in place of class folders.
    skip_errors: leave out files that cannot be read, and count them.
    drop_alpha: of `folder:`, leave transparency aside; else it is refused.
    images: of `coco:`, the folder of the pictures.
    groups: of `videos:`, a regular expression that names what was cut up.
    split: of TFDS sets and of benchmarks that have several.
    subset: examples by a name, or a file of their ids.
    perturbations: of pictures of your own, ImageNet-P's sequences; of videos
      as `conditions`.
    difficulties: of sequences, 1 to 3.
    left_out: corruptions that are left out; `absent`: those without files.
    views: clips of a video.
    sampling: of clips, `dense` or `uniform`.
    merge: of frames, how classes are merged.
    rules: of detection, whose rules of AP.
    config: of the data set, where it has several.
    source: `fly`, or `prepared`: read corrupted pictures from a built set.
    codec: of the pixels: `raw`, `jpeg85`, `published`, ...
    data_dir: where prepared sets lie, and are kept for the next call.
    manual_dir: where archives lie that nobody may download.
    frost_dir: where frost's pictures lie.
    file_format: of prepared sets, `array_record` or `tfrecord`.
    block_mib: decoded pixels that are held at once, MiB.
    ignore: of `masks:`, the id of pixels that do not count; None: 255.
    protocol: of segmentation, whose cells and pixels: `kamann_rother_16`,
      `fan_19`, `semsegbench_15`; None: all 15 at 5 severities, whole, in RGB.
    keep_masks: of segmentation, whether cells keep every answered class map.
    metric: a function of one's own, `f(output, target) -> float` of one example,
      or name -> function; of commands `my_module:f`. A cell's number is the mean
      over its examples: per-example means only, which mIoU and AP are not.
      `predict` then answers with arrays of any shape `[B, ...]`, or dicts and
      tuples of them, and a plain function is shown whole pictures where `size` is
      None: docs/OWN_METRIC.md.
    targets: of the metric, by the ids of examples: a mapping, a `.json` or `.csv`
      file, `folder:PATH` of `.npy`, pictures or `.json` beside, a function of the
      id, or `tfds:FEATURE`; None: the metric gets None.
    target: `clean`: the target is the model's own answer to the clean picture.
    better: `lower` or `higher` values of the metric, or name -> which.
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
