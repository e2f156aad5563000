"""Trains a small model for the embedded quickstart; reuses what it trained.

Not a training library: one optimiser, cross-entropy, a few seconds. Published
checkpoints go through `models.convert`. Only parameters follow the gradient;
running statistics of batch norms are moved by the network's train mode
(`apply_train`; those of detectors are frozen). All networks of the catalogue
have one; models from elsewhere are refused.
"""

import functools
import json
import sys
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from etils import epath

from robust_tfds import datasets, errors, reading, step_lines
from robust_tfds.building import file_formats, geometry
from robust_tfds.corruptions import canvas
from robust_tfds.eval.cells import damage
from robust_tfds.eval.cells import note as note_lib
from robust_tfds.eval.pipeline import views
from robust_tfds.eval.run import augment, progress
from robust_tfds.models import variables as variables_lib
from robust_tfds.models.training import checkpoints
from robust_tfds.records import Record
from robust_tfds.storage import disk, paths

_NOTE = "recipe.json"  # written last
_WEIGHTS = "variables"


class _Record(Record):
  """What the note says."""

  recipe: dict[str, Any]
  files: dict[str, str]


def load_or_train(
  model: Any, recipe: Any, folder: epath.Path, *, data_dir: str
) -> Any:
  """The trained variables: from `folder` if they are there, else trained.

  Args:
    model: from `models.get`.
    recipe: `dataset`, `split`, `steps`, `batch_size`, `learning_rate`, `seed`;
      of classifiers also `flip` and `crop_px` (`eval/run/augment.py`).
    folder: where the orbax checkpoint and its recipe live.
    data_dir: TFDS data folder.

  Returns:
    Variables for `model.apply`.

  Raises:
    UserError: a model without a train mode; the folder holds a model of another
      recipe, or a damaged one; labels that the model has not; training that
      diverged.
  """
  if not model.trainable:
    raise errors.UserError(
      f"{model.name} has no train mode, so config.model.train would spoil it."
      " Networks of models.names() have one: name one of them, or leave out"
      " `train` and give a checkpoint."
    )
  facts, record = _facts(model, recipe), check_whole(folder)
  if not record:
    variables = jax.tree.map(np.asarray, _train(model, recipe, data_dir))
    store(model, recipe, folder, variables)
    return variables
  if record != facts:
    raise errors.UserError(
      f"{folder} holds a model trained by another recipe: {record} there,"
      f" {facts} now. Use another --workdir or delete that folder."
    )
  shapes = jax.eval_shape(lambda: model.init(jax.random.key(0)))
  # numpy in and out: orbax takes no device array of one host among many.
  return _restored(
    folder, jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)
  )


def stored(folder: epath.Path) -> Any:
  """The variables of a model that was trained there; None where none was.

  Raises:
    DamagedError: see `check_whole`.
  """
  return _restored(folder) if check_whole(folder) else None


def store(model: Any, recipe: Any, folder: epath.Path, variables: Any) -> None:
  """Writes a trained model, as `load_or_train` finds it.

  Args:
    model: from `models.get`.
    recipe: see `load_or_train`.

  Raises:
    UserError: they are not the model's.
  """
  shapes = jax.eval_shape(lambda: model.init(jax.random.key(0)))
  variables_lib.check_shapes(
    model.name,
    {p: x.shape for p, x in variables_lib.flatten(shapes).items()},
    variables_lib.flatten(variables),
  )
  checkpoint = paths.resolved(folder) / _WEIGHTS
  with disk.writing(folder):
    disk.remove(checkpoint)  # of a run that was killed
    folder.mkdir(parents=True, exist_ok=True)
    with (
      paths.written_locally(checkpoint) as place,
      checkpoints.quiet(),
      _checkpointer() as checkpointer,
    ):
      checkpointer.save(place, variables, force=True)
  record = {"recipe": _facts(model, recipe), "files": _checksums(folder)}
  text = json.dumps(record, indent=1, sort_keys=True) + "\n"
  disk.write_text(folder / _NOTE, text)


def _facts(model: Any, recipe: Any) -> dict[str, Any]:
  """What a trained model's weights depend on."""
  facts = {"model": model.name, **dict(recipe)}
  if model.statistics():  # older code moved them by the gradient
    facts["statistics"] = "moved by the train mode"
  return facts


def _restored(folder: epath.Path, *like: Any) -> Any:
  """The variables of a checkpoint; `like`: their structure, where it is known."""
  checkpoint = paths.resolved(folder) / _WEIGHTS
  with paths.local_copy(checkpoint) as place, _checkpointer() as checkpointer:
    return jax.tree.map(np.asarray, checkpointer.restore(place, *like))


def check_whole(folder: epath.Path) -> dict[str, Any]:
  """The recipe of a trained model whose files are those that were written.

  Returns:
    The recipe; empty where the training has not ended.

  Raises:
    DamagedError: names the file.
  """
  path = folder / _NOTE
  if not disk.exists(path):
    return {}
  try:
    record = reading.records(reading.json_file(path), _Record, str(path))
    if record.files != _checksums(folder):
      differ = set(record.files.items()) ^ set(_checksums(folder).items())
      raise errors.UserError(
        f"{folder / min(differ)[0]}: the weights that were trained here are not"
        " what was written: this file was changed, added or removed"
      )
  except errors.UserError as e:
    raise damage.DamagedError(str(e), folder) from e
  return record.recipe


def _checksums(folder: epath.Path) -> dict[str, str]:
  """Name -> sha256 of all files of a trained model's checkpoint."""
  return {
    f"{_WEIGHTS}/{below}": note_lib.file_sha256(paths.of(whole))
    for below, whole in sorted(paths.files_below(folder / _WEIGHTS))
  }


def _checkpointer() -> Any:
  """Orbax for this process alone: every host reads, the first one writes."""
  import orbax.checkpoint as ocp

  index = jax.process_index()
  alone = ocp.options.MultiprocessingOptions(
    primary_host=index,
    active_processes={index},
    barrier_sync_key_prefix=f"process{index}",
  )
  return ocp.StandardCheckpointer(multiprocessing_options=alone)


def _train(model: Any, recipe: Any, data_dir: str) -> Any:
  make = _detection if model.kind == "detection" else _classification
  data, loss, optimizer = make(model, recipe, data_dir)
  key = jax.random.key(recipe.seed)
  parameters, statistics = _parted(model, jax.jit(model.init)(key))
  count = len(jax.tree.leaves(data)[0])

  @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
  def step(
    parameters: Any, statistics: Any, state: Any, data: Any, i: int
  ) -> tuple[Any, Any, Any]:
    rows = jax.random.randint(
      jax.random.fold_in(key, i), (recipe.batch_size,), 0, count
    )
    batch = augment.batch(
      jax.random.fold_in(jax.random.fold_in(key, i), 1),
      jax.tree.map(lambda x: x[rows], data),
      flip=recipe.get("flip", False),
      crop_px=recipe.get("crop_px", 0),
    )

    def of_parameters(parameters: Any) -> tuple[jax.Array, Any]:
      drawn = jax.random.fold_in(jax.random.fold_in(key, i), 2)
      return loss(_joined(parameters, statistics), batch, drawn)

    gradient, moved = jax.grad(of_parameters, has_aux=True)(parameters)
    update, state = optimizer.update(gradient, state, parameters)
    return optax.apply_updates(parameters, update), moved, state

  state = optimizer.init(parameters)
  progress.say(f"training {model.name}: {recipe.steps} steps")
  for i in range(recipe.steps):
    parameters, statistics, state = step(parameters, statistics, state, data, i)
    jax.block_until_ready(state)  # else the lines run ahead
    if i == 0:  # it was compiled, which no other is
      lines = step_lines.Progress(recipe.steps, stream=sys.stdout)
    lines.step(f"training {model.name}")
  variables = jax.block_until_ready(_joined(parameters, statistics))
  _check_finite(model, recipe, variables)
  return variables


def _parted(model: Any, variables: Any) -> tuple[Any, dict]:
  """Parameters as nested dicts, and statistics by path."""
  flat = variables_lib.flatten(variables)
  moved = model.statistics()
  parameters = {p: x for p, x in flat.items() if p not in moved}
  return variables_lib.nest(parameters), {p: flat[p] for p in moved}


def _joined(parameters: Any, statistics: dict) -> Any:
  """The variables again; undoes `_parted`."""
  flat = {**variables_lib.flatten(parameters), **statistics}
  return variables_lib.nest(flat)


def _check_finite(model: Any, recipe: Any, variables: Any) -> None:
  """Refuses weights that training has driven to NaN or infinity."""
  for path, leaf in variables_lib.flatten(variables).items():
    if not np.isfinite(np.asarray(leaf)).all():
      raise errors.UserError(
        f"Training {model.name} diverged: {'/'.join(path)} has NaN or infinite"
        f" values after {recipe.steps} steps. Lower train.learning_rate"
        f" ({recipe.learning_rate})."
      )


def _classification(model: Any, recipe: Any, data_dir: str) -> tuple:
  video = bool(model.spec.clip_frames)
  set_ = recipe.dataset, recipe.split, data_dir
  image, label = _clips(model, *set_) if video else _arrays(*set_)
  _check_labels(model, recipe, label)
  data = {
    "image": model.preprocess(jnp.asarray(image)),
    "label": jnp.asarray(label),
  }

  def loss(variables: Any, batch: Any, key: Any) -> tuple[jax.Array, Any]:
    logits, moved = model.apply_train(variables, batch["image"], key)
    each = optax.softmax_cross_entropy_with_integer_labels(
      logits, batch["label"]
    )
    return each.mean(), _parted(model, moved)[1]

  schedule = optax.cosine_decay_schedule(recipe.learning_rate, recipe.steps)
  return data, loss, optax.adam(schedule)


def _detection(model: Any, recipe: Any, data_dir: str) -> tuple:
  """Canvases and padded boxes; the model brings its loss."""
  keys = ("image", "objects")
  rows = _examples(recipe.dataset, recipe.split, data_dir, keys)
  images, sizes = canvas.stack([r["image"] for r in rows])
  most = max(len(r["objects"]["id"]) for r in rows)
  boxes = np.zeros((len(rows), most, 4), np.float32)
  labels = np.full((len(rows), most), -1, np.int32)
  for i, row in enumerate(rows):
    objects = row["objects"]
    n = len(objects["id"])
    # Of ArrayRecord files a list of boxes.
    corner, side = np.split(np.reshape(objects["bbox_px"], (n, 4)), 2, axis=1)
    boxes[i, :n] = np.concatenate([corner, corner + side], axis=1)
    labels[i, :n] = objects["label"]
  data = jax.tree.map(
    jnp.asarray,
    {"image": images, "size": sizes, "boxes": boxes, "labels": labels},
  )
  schedule = optax.warmup_cosine_decay_schedule(
    0.0, recipe.learning_rate, recipe.steps // 10, recipe.steps
  )
  optimizer = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(schedule))

  def loss(variables: Any, batch: Any, key: Any) -> tuple[jax.Array, Any]:
    losses, moved = model.apply_train(variables, batch, key)
    return sum(losses.values()), _parted(model, moved)[1]

  return data, loss, optimizer


def _check_labels(model: Any, recipe: Any, label: np.ndarray) -> None:
  classes = model.spec.num_classes
  if not 0 <= label.min() <= label.max() < classes:
    raise errors.UserError(
      f"train.dataset={recipe.dataset!r} has labels {label.min()}..{label.max()},"
      f" {model.name} has the classes 0..{classes - 1}. Set num_classes, or train"
      " on a set of its classes."
    )


def _examples(
  name: str, split: str, data_dir: str, keys: Sequence[str]
) -> list[dict[str, Any]]:
  """All examples of a split, or of a part of one (`train[:10%]`).

  Raises:
    UserError: no such split, no examples, or without one of `keys`.
  """
  builder = datasets.prepare(name, "", data_dir=data_dir, say=progress.say)
  try:
    count = builder.info.splits[split].num_examples
  except (KeyError, ValueError) as e:
    raise errors.UserError(
      f"train.split: {name} has no {split!r}. It has:"
      f" {', '.join(builder.info.splits)}."
    ) from e
  if count < 1:  # TFDS counts those of `train[50:40]` as -10
    raise errors.UserError(f"train.split: {split!r} of {name} has no examples.")
  rows = list(file_formats.rows(builder, split))
  lacking = [key for key in keys if key not in rows[0]]
  if lacking:
    raise errors.UserError(
      f"train.dataset={name!r}: its examples have no {', '.join(lacking)}, which"
      " the network learns from. Name a set of its task."
    )
  return rows


def _arrays(name: str, split: str, data_dir: str) -> tuple:
  """All pictures and labels of a split."""
  rows = _examples(name, split, data_dir, ("image", "label"))
  shapes = sorted({r["image"].shape for r in rows})
  if len(shapes) != 1:
    raise errors.UserError(
      f"train.dataset={name!r} has pictures of {len(shapes)} shapes, e.g."
      f" {', '.join(map(str, shapes[:2]))}, expected one: train on a set whose"
      " pictures have the network's size."
    )
  # TFDS stores examples by the hash of their ids: the order is stable.
  return (
    np.stack([r["image"] for r in rows]),
    np.array([r["label"] for r in rows], np.int32),
  )


def _clips(model: Any, name: str, split: str, data_dir: str) -> tuple:
  """One clip of every video, as the model will see them."""
  rows = _examples(name, split, data_dir, ("video", "fps", "label"))
  return (
    np.stack([_clip(r["video"], float(r["fps"]), model.spec) for r in rows]),
    np.array([r["label"] for r in rows], np.int32),
  )


def _clip(video: np.ndarray, fps: float, spec: Any) -> np.ndarray:
  """The first view of a clean video: uint8 `[frames, S, S, 3]`."""
  (numbers,) = views.view_indices(len(video), fps, spec.frames, spec.rate, 1)
  return np.stack([geometry.apply(f, spec.geometry) for f in video[numbers]])
