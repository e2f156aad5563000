"""What the stages of a run cost: bytes, and times measured on one batch of each."""

import dataclasses
import functools
import itertools
import math
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from eval.cells.files import packed, predictions
from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.run import data as data_lib
from eval.run import plan as plan_lib
from robust_tfds import datasets, devices, hosts
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import frost_pictures

NETWORK = "network"  # stage, where others are names of corruptions
_READ_BATCHES = 2
# Bytes of a row in a cell: what `--plan=measure` says of the quickstarts; of a
# detection its box, score and class, and the run lengths of a mask
# (docs/evidence/COSTS.md).
_ROW_BYTES, _BOX_BYTES, _MASK_BYTES = 33, 24, 290


@dataclasses.dataclass(frozen=True)
class Costs:
  """Seconds and bytes of one example.

  Attributes:
    examples: of a cell; None: not known before the data set is prepared.
    decode_s: reading and decoding; None: not known before.
    pixel_bytes: decoded; None: not known before.
    corrupt_s: (label, name) -> corruption of one level; the label is empty where
      all models are shown the same. A name that is not there is not known.
    model_s: label -> one image (of video: one clip); the same.
    compile_s: (label, name) -> of its program; of models the name is `NETWORK`.
    cell_bytes: (label, condition) -> predictions on disk.
    batch_bytes: condition -> pixels of a batch that models see.
    base_bytes: most memory that this process needed so far, programs and weights
      included.
  """

  examples: int | None
  decode_s: float | None
  pixel_bytes: float | None
  corrupt_s: Mapping[tuple[str, str], float]
  model_s: Mapping[str, float]
  compile_s: Mapping[tuple[str, str], float]
  cell_bytes: Mapping[tuple[str, Condition], float]
  batch_bytes: Mapping[Condition, int]
  base_bytes: int


def measure(
  plan: plan_lib.Plan,
  workdir: Workdir | None,
  chosen: Sequence[tuple[str, Condition]],
) -> Costs:
  """Compiles what the cells need and times a batch of each; writes nothing.

  Examples are those of the prepared set; random pixels where it is not prepared.

  Args:
    workdir: where it would run, whose data folder is looked into.
    chosen: (label, condition) of the cells.
  """
  source = _source(plan, workdir)
  networks = {
    label: plan.model(label)
    for label in dict.fromkeys(label for label, _ in chosen)
  }
  listed = list(dict.fromkeys(c for _, c in chosen))
  decode_s, pixel_bytes, batch = _decoded(plan, source, listed, networks)
  shown = None if batch is None else _ShownBatch(plan, batch, networks)
  corrupted = {} if shown is None else shown.corrupted(listed)
  answered = {
    (label, NETWORK): _model_s(
      model, _rows(plan, model) if shown is None else shown.rows(model)
    )
    for label, model in networks.items()
  }
  return Costs(
    examples=data_lib.num_examples(plan, workdir),
    decode_s=decode_s,
    pixel_bytes=pixel_bytes,
    corrupt_s={key: each for key, (each, _) in corrupted.items()},
    model_s={label: each for (label, _), (each, _) in answered.items()},
    compile_s={key: s for key, (_, s) in (corrupted | answered).items()},
    cell_bytes={
      (label, c): _cell_bytes(plan, networks[label], c) for label, c in chosen
    },
    batch_bytes=batch_bytes(plan, list(networks), listed),
    base_bytes=peak_bytes(),
  )


def unmeasured(
  plan: plan_lib.Plan,
  workdir: Workdir | None,
  chosen: Sequence[tuple[str, Condition]],
) -> Costs:
  """Return the counts and bytes that are known without compiling; no times.

  Args:
    workdir: where it would run, whose data folder is looked into.
    chosen: (label, condition) of the cells.
  """
  listed = list(dict.fromkeys(c for _, c in chosen))
  labels = list(dict.fromkeys(label for label, _ in chosen))
  return Costs(
    examples=data_lib.num_examples(plan, workdir),
    decode_s=None,
    pixel_bytes=3.0 * plan_lib.image_px(plan) ** 2,
    corrupt_s={},
    model_s={},
    compile_s={},
    cell_bytes={key: _row_bytes(plan, *key) for key in chosen},
    batch_bytes=batch_bytes(plan, labels, listed),
    base_bytes=peak_bytes(),
  )


def _row_bytes(plan: plan_lib.Plan, label: str, condition: Condition) -> float:
  """Return about how many bytes the predictions of an example take on disk."""
  spec: Any = plan.model(label).spec
  if spec.kind == "detection":
    masks = "mask" in plan.models[label].name
    return spec.detections * (_BOX_BYTES + _MASK_BYTES * masks)
  return _ROW_BYTES * plan.task.images_per_example(condition)


def peak_bytes() -> int:
  """Most memory that this process needed so far."""
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return peak if sys.platform == "darwin" else peak * 1024


def _source(
  plan: plan_lib.Plan, workdir: Workdir | None
) -> inputs.Source | None:
  """The clean set, if it is prepared."""
  folder = data_lib.data_dir(plan, workdir)
  if folder is None or not data_lib.prepared_examples(plan, workdir):
    return None
  data = plan.config.data
  config, codec = plan.stored(Condition())
  builder = datasets.builder(
    plan.config.builder, config, data_dir=folder, **plan.options(codec)
  )
  if data.split not in builder.info.splits:
    return None
  return data_lib.source_of(plan, builder, hosts.Host())


def _decoded(
  plan: plan_lib.Plan,
  source: inputs.Source | None,
  listed: Sequence[Condition],
  networks: Mapping[str, Any],
) -> tuple[float | None, float | None, inputs.Batch | None]:
  """Seconds and bytes of an example, and a batch."""
  if source is None:
    return None, None, None if plan.task.per_model else _random_batch(plan)
  specs = {label: model.spec for label, model in networks.items()}
  reader = plan.task.reader(source, listed, specs)
  count = min(source.share, _READ_BATCHES * source.batch_size)
  list(reader.rows(0, 1))  # opens files, starts threads
  start = time.perf_counter()
  rows = list(reader.rows(0, count))
  seconds = (time.perf_counter() - start) / count
  usual = reader.group(rows[0])
  same = [row for row in rows if reader.group(row) == usual]
  repeated = list(itertools.islice(itertools.cycle(same), source.batch_size))
  nbytes = sum(row.nbytes for row in rows) / count
  return seconds, nbytes, reader.batch(repeated)


def _random_batch(plan: plan_lib.Plan) -> inputs.Batch:
  side, count = plan_lib.image_px(plan), plan.config.batch_size
  shape = (count, side, side, 3)
  ids = [str(i) for i in range(count)]
  return inputs.Batch(
    image=np.random.default_rng(0).integers(0, 256, shape, np.uint8),
    size=np.full((count, 2), side, np.int32),
    mask=np.ones(count, bool),
    example_id=ids,
    group_id=ids,
    frame=np.zeros(count, np.int32),
    label=np.zeros(count, np.int32),
    examples=[{"image_id": i} for i in range(count)],
    any_size=plan.task.sized,
  )


class _ShownBatch:
  """A batch as models see it."""

  def __init__(
    self, plan: plan_lib.Plan, batch: inputs.Batch, networks: Mapping[str, Any]
  ):
    frost_pictures.choose(
      plan.config.data.frost_dir, plan.config.data.manual_dir
    )
    self._plan, self._examples = plan, len(batch.mask)
    self._specs = {label: model.spec for label, model in networks.items()}
    self._show = plan.task.show(devices.mesh(), self._specs)
    self._placed = self._show.put(batch)

  def corrupted(
    self, listed: Sequence[Condition]
  ) -> dict[tuple[str, str], tuple[float, float]]:
    """One level of every name: seconds an example, and to compile."""
    labels = self._specs if self._plan.task.per_model else {"": None}
    out = {}
    for condition in {c.name: c for c in listed}.values():
      for label, spec in labels.items():
        see = functools.partial(self._see, condition, spec)
        out[label, condition.name] = _seconds(see, self._examples)
    return out

  def rows(self, model: Any) -> list[jax.Array]:
    """What a model is called with, clean."""
    images, sizes = self._show.see(self._placed, Condition(), model.spec)
    flat = images.reshape(-1, *images.shape[-model.spec.item_axes :])
    return [flat] if sizes is None else [flat, sizes]

  def _see(self, condition: Condition, spec: Any) -> jax.Array:
    return self._show.see(self._placed, condition, spec)[0]


def _seconds(call: Callable[[], object], images: int) -> tuple[float, float]:
  """Of an image, the second time; and what the first time took longer."""
  start = time.perf_counter()
  jax.block_until_ready(call())
  between = time.perf_counter()
  jax.block_until_ready(call())
  again = time.perf_counter() - between
  return again / images, max(0.0, between - start - again)


def _model_s(model: Any, rows: Sequence[Any]) -> tuple[float, float]:
  """Seconds an image of a batch, and to compile."""
  if model.on_host:
    there = [np.asarray(row) for row in rows]
    variables = model.init(jax.random.key(0))
    return _seconds(lambda: model.apply(variables, *there), len(rows[0]))
  mesh = devices.mesh()
  variables = devices.put_replicated(
    jax.jit(model.init)(jax.random.key(0)), mesh
  )
  step = jax.jit(_sharded(model.apply, mesh, len(rows)))
  return _seconds(lambda: step(variables, *rows), len(rows[0]))


def _sharded(apply: Callable, mesh: Mesh, rows: int) -> Callable:
  spec = jax.sharding.PartitionSpec
  return jax.shard_map(
    apply,
    mesh=mesh,
    in_specs=(spec(), *[spec("data")] * rows),
    out_specs=spec("data"),
    check_vma=False,
  )


def _rows(plan: plan_lib.Plan, model: Any) -> list[np.ndarray]:
  """A batch of random pixels, and its sizes for models that are told them."""
  shape = model.spec.batch_shape(
    plan.config.batch_size, plan_lib.image_px(plan)
  )
  rows = [np.random.default_rng(0).integers(0, 256, shape, np.uint8)]
  if plan.task.sized:
    rows.append(np.tile(np.array(shape[1:3], np.int32), (shape[0], 1)))
  return rows


def _cell_bytes(plan: plan_lib.Plan, model: Any, condition: Condition) -> float:
  """Of a batch's predictions as they are stored, from their shapes alone."""
  count = plan.config.batch_size
  frames = plan.task.images_per_example(condition)
  variables = jax.eval_shape(model.init, jax.random.key(0))
  rows = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in _rows(plan, model)]

  def outputs(variables: Any, *rows: jax.Array) -> Any:
    given = _answer(model, variables, rows)
    if not plan.task.sized:
      several = frames > 1 or plan.task.model_kind == "video"
      shape = (count, frames, -1) if several else (count, -1)
      given = jnp.broadcast_to(
        given[:, None], (len(given), frames, given.shape[-1])
      ).reshape(shape)
    labels = jnp.zeros(count, jnp.int32)
    return plan.task.reducer(condition)(given, labels)

  shapes = jax.eval_shape(outputs, variables, *rows)
  whole = {k: _largest(x, model.spec.num_classes) for k, x in shapes.items()}
  batch = dataclasses.replace(
    _random_batch(plan), size=np.full((count, 2), 640, np.int32)
  )
  columns = plan.task.columns(batch, whole, condition)
  # Of a file the names of its arrays weigh as much as a small batch.
  twice = predictions.concatenate([columns, columns])
  return (len(packed.dumps(twice)) - len(packed.dumps(columns))) / count


def _answer(model: Any, variables: Any, rows: Sequence[jax.Array]) -> Any:
  """A traced answer; of models on the host, of the shapes it must have."""
  if not model.on_host:
    return model.apply(variables, *rows)
  count, spec = len(rows[0]), model.spec
  if spec.kind != "detection":
    return jnp.zeros((count, spec.num_classes), jnp.float32)
  shape = (count, spec.detections)
  return {
    "boxes": jnp.zeros((*shape, 4), jnp.float32),
    "scores": jnp.zeros(shape, jnp.float32),
    "classes": jnp.zeros(shape, jnp.int32),
    "valid": jnp.zeros(shape, jnp.bool_),
  }


def _largest(x: jax.ShapeDtypeStruct, classes: int) -> np.ndarray:
  """Numbers that need as many bytes as any class."""
  if not np.issubdtype(x.dtype, np.integer):
    return np.full(x.shape, 0.5, x.dtype)
  down = (classes - 1 - np.arange(x.shape[-1])) % classes  # no class twice
  return np.broadcast_to(down, x.shape).astype(x.dtype)


def batch_bytes(
  plan: plan_lib.Plan, labels: Sequence[str], listed: Iterable[Condition]
) -> dict[Condition, int]:
  """Condition -> pixels of a batch as the model of the largest inputs sees it."""
  size = plan.config.batch_size, plan_lib.image_px(plan)
  shapes = [plan.model(label).spec.batch_shape(*size) for label in labels]
  largest = max((math.prod(shape) for shape in shapes), default=0)
  return {c: largest * plan.task.images_per_example(c) for c in listed}
