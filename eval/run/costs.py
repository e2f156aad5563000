"""The cost of a run: bytes, and for `--plan=measure` also times of single batches."""

import contextlib
import dataclasses
import functools
import itertools
import math
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from eval.cells.workdir import Workdir
from eval.pipeline import inputs
from eval.run import data as data_lib
from eval.run import plan as plan_lib
from robust_tfds import datasets, devices, hosts, missing
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import frost_pictures

NETWORK = "network"  # stands for the model among names of corruptions
_READ_BATCHES = 2
# Bytes of a row in a cell; of a detection's box, score and class; and of a mask's
# run lengths (docs/evidence/COSTS.md).
_ROW_BYTES, _BOX_BYTES, _MASK_BYTES = 33, 24, 290
_AREA_BYTES = 12  # per class: three int32 counts of pixels

CellKeys = Sequence[tuple[str, Condition]]  # (label, condition) of cells
_Timed = tuple[float, float]  # seconds per example, seconds to compile


@dataclasses.dataclass(frozen=True)
class Costs:
  """Bytes and seconds of one example.

  Attributes:
    examples: number of examples of a cell; None: unknown until the data set is
      prepared.
    pixel_bytes: decoded pixels; None: unknown until the data set is prepared.
    cell_bytes: (label, condition) -> predictions on disk.
    batch_bytes: condition -> pixels of a batch that models see.
    base_bytes: peak memory of this process so far, with programs and weights.
    decode_s: reading and decoding; None: not measured, or unknown until the data
      set is prepared.
    corrupt_s: (label, name) -> corruption at one level; the label is empty if all
      models see the same pixels. Names without a time were not measured.
    model_s: label -> one image, or one clip of a video.
    compile_s: (label, name) -> compiling the program; the name `NETWORK` is the
      model's own.
  """

  examples: int | None
  pixel_bytes: float | None
  cell_bytes: Mapping[tuple[str, Condition], float]
  batch_bytes: Mapping[Condition, int]
  base_bytes: int
  decode_s: float | None = None
  corrupt_s: Mapping[tuple[str, str], float] = dataclasses.field(
    default_factory=dict
  )
  model_s: Mapping[str, float] = dataclasses.field(default_factory=dict)
  compile_s: Mapping[tuple[str, str], float] = dataclasses.field(
    default_factory=dict
  )


def count(
  plan: plan_lib.Plan, workdir: Workdir | None, chosen: CellKeys
) -> Costs:
  """Return the costs without times, which needs no compiling.

  Args:
    workdir: the run's workdir; the data set may be prepared there.
    chosen: the cells.
  """
  conditions = list(dict.fromkeys(c for _, c in chosen))
  labels = dict.fromkeys(label for label, _ in chosen)
  side = plan_lib.image_px(plan)
  size = plan.config.batch_size, side
  shapes = [plan.model(label).spec.batch_shape(*size) for label in labels]
  largest = max((math.prod(shape) for shape in shapes), default=0)
  largest += max(
    (_logit_bytes(plan, label, side) for label in labels), default=0
  )
  return Costs(
    examples=data_lib.num_examples(plan, workdir),
    pixel_bytes=3.0 * side**2,
    cell_bytes={key: _row_bytes(plan, *key) for key in chosen},
    batch_bytes={
      c: largest * plan.task.images_per_example(c) for c in conditions
    },
    base_bytes=_peak_bytes(),
  )


def measure(
  plan: plan_lib.Plan, workdir: Workdir | None, chosen: CellKeys
) -> Costs:
  """Compile the programs of the cells and time one batch of each; write nothing.

  The examples are read from the data set, or are random pixels if it is missing.

  Args:
    workdir: see `count`.
    chosen: the cells.
  """
  source = _source(plan, workdir)
  labels = dict.fromkeys(label for label, _ in chosen)
  networks = {label: plan.model(label) for label in labels}
  conditions = list(dict.fromkeys(c for _, c in chosen))
  decode_s, pixel_bytes, batch = _decoded(plan, source, conditions, networks)
  shown = None if batch is None else _ShownBatch(plan, batch, networks)
  corrupted = {} if shown is None else shown.corrupted(conditions)
  answered = {
    (label, NETWORK): _model_s(
      model, _random_rows(plan, model) if shown is None else shown.rows(model)
    )
    for label, model in networks.items()
  }
  return dataclasses.replace(
    count(plan, workdir, chosen),
    decode_s=decode_s,
    pixel_bytes=pixel_bytes,
    corrupt_s={key: each for key, (each, _) in corrupted.items()},
    model_s={label: each for (label, _), (each, _) in answered.items()},
    compile_s={key: s for key, (_, s) in (corrupted | answered).items()},
  )


def _logit_bytes(plan: plan_lib.Plan, label: str, side_px: int) -> int:
  """Return the bytes of a segmenter's full-size logits for one picture, else 0."""
  spec = plan.model(label).spec
  segments = spec.kind == "segmentation"
  return 4 * spec.num_classes * side_px**2 * segments


def _row_bytes(plan: plan_lib.Plan, label: str, condition: Condition) -> float:
  """Estimate the bytes that the predictions of an example take on disk."""
  spec: Any = plan.model(label).spec
  if spec.kind == "segmentation":
    return _AREA_BYTES * spec.num_classes
  if spec.kind == "detection":
    masks = "mask" in plan.models[label].name
    return spec.detections * (_BOX_BYTES + _MASK_BYTES * masks)
  return _ROW_BYTES * plan.task.images_per_example(condition)


def _peak_bytes() -> int:
  """Return the peak memory of this process."""
  peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
  return peak if sys.platform == "darwin" else peak * 1024


def _source(
  plan: plan_lib.Plan, workdir: Workdir | None
) -> inputs.Source | None:
  """Return the clean set; None if it is neither prepared nor readable from files."""
  with contextlib.suppress(
    missing.MissingError
  ):  # `--plan` says what is missing
    if plan.fly and (files := data_lib.unprepared(plan, workdir, hosts.Host())):
      return files
  folder = data_lib.data_dir(plan, workdir)
  if folder is None or not data_lib.prepared_examples(plan, workdir):
    return None
  config, codec = plan.stored(Condition())
  builder = datasets.builder(
    plan.config.builder, config, data_dir=folder, **plan.options(codec)
  )
  if plan.config.data.split not in builder.info.splits:
    return None
  return data_lib.source_of(plan, builder, hosts.Host())


def _decoded(
  plan: plan_lib.Plan,
  source: inputs.Source | None,
  conditions: Sequence[Condition],
  networks: Mapping[str, Any],
) -> tuple[float | None, float | None, inputs.Batch | None]:
  """Return the seconds and bytes of an example, and a batch."""
  if source is None:
    return None, None, None if plan.task.per_model else _random_batch(plan)
  specs = {label: model.spec for label, model in networks.items()}
  reader = plan.task.reader(source, conditions, specs)
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


def _random_rows(plan: plan_lib.Plan, model: Any) -> list[np.ndarray]:
  """Return a batch of random pixels, and its sizes for models that take any size."""
  shape = model.spec.batch_shape(
    plan.config.batch_size, plan_lib.image_px(plan)
  )
  rows = [np.random.default_rng(0).integers(0, 256, shape, np.uint8)]
  if plan.task.sized:
    rows.append(np.tile(np.array(shape[1:3], np.int32), (shape[0], 1)))
  return rows


class _ShownBatch:
  """A batch on the devices, ready to be corrupted and shown to models."""

  def __init__(
    self, plan: plan_lib.Plan, batch: inputs.Batch, networks: Mapping[str, Any]
  ):
    data = plan.config.data
    frost_pictures.choose(data.frost_dir, data.manual_dir)
    self._plan, self._examples = plan, len(batch.mask)
    self._specs = {label: model.spec for label, model in networks.items()}
    self._show = plan.task.show(devices.mesh(), self._specs)
    self._placed = self._show.put(batch)

  def corrupted(
    self, conditions: Sequence[Condition]
  ) -> dict[tuple[str, str], _Timed]:
    """Return (label, name) -> times of every corruption, each at one level."""
    labels = self._specs if self._plan.task.per_model else {"": None}
    out = {}
    for condition in {c.name: c for c in conditions}.values():
      for label, spec in labels.items():
        corrupt = functools.partial(self._see, condition, spec)
        out[label, condition.name] = _seconds(corrupt, self._examples)
    return out

  def rows(self, model: Any) -> list[jax.Array]:
    """Return the clean inputs of a model."""
    images, sizes = self._show.see(self._placed, Condition(), model.spec)
    flat = images.reshape(-1, *images.shape[-model.spec.item_axes :])
    return [flat] if sizes is None else [flat, sizes]

  def _see(self, condition: Condition, spec: Any) -> jax.Array:
    return self._show.see(self._placed, condition, spec)[0]


def _seconds(call: Callable[[], object], images: int) -> _Timed:
  """Return the second call's seconds per image, and the first one's extra seconds."""
  start = time.perf_counter()
  jax.block_until_ready(call())
  between = time.perf_counter()
  jax.block_until_ready(call())
  again = time.perf_counter() - between
  return again / images, max(0.0, between - start - again)


def _model_s(model: Any, rows: Sequence[Any]) -> _Timed:
  """Time a model on a batch, per image."""
  if model.on_host:
    on_host = [np.asarray(row) for row in rows]
    variables = model.init(jax.random.key(0))
    return _seconds(lambda: model.apply(variables, *on_host), len(rows[0]))
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
