"""What the stages of a run cost by a stored table: nothing is compiled.

`stored_costs.tsv` is made by `python -m benchmarks.costs --write`: milliseconds of
one core, or of one accelerator, and seconds to compile. Other sizes follow by their
pixels, other networks by their multiply-adds (`models/gflops.tsv`).
"""

import dataclasses
import functools
import math
import os
import pathlib
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax

from robust_tfds import models
from robust_tfds.conditions import Condition
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.run import costs as costs_lib
from robust_tfds.eval.run import data as data_lib
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.eval.run import progress
from robust_tfds.models import catalogue

FILE = pathlib.Path(__file__).with_name("stored_costs.tsv")
_DECODE, _PICTURES = "decode", "pictures"
_CODERS = ("jpeg85", "h264")  # codecs that are work
_CANVASES = 10  # of pictures of all sizes: as many programs a corruption
_ONE_CANVAS_PX = 128  # holds all of the embedded scenes
# Bytes of a row in a cell: what `--plan=measure` says of the quickstarts; of a
# detection its box, score and class, and the run lengths of a mask (docs/SCALE.md).
_ROW_BYTES, _BOX_BYTES, _MASK_BYTES = 33, 24, 290


@dataclasses.dataclass(frozen=True)
class Row:
  """A line of the table.

  Attributes:
    platform: of JAX: `cpu` (one core), `gpu`, `tpu`.
    kind: `decode`, `network`, or what is corrupted: `pictures`, ...
    name: of the corruption, codec or network; of `decode` the kind of sets.
    px: side of the pictures or frames.
    ms: of a picture, frame or clip.
    compile_s: of its program; 0 where there is none.
  """

  platform: str
  kind: str
  name: str
  px: int
  ms: float
  compile_s: float


# Of the quickstart on two quiet cores: 40 s, of which the table knows 17.
_NOT_COUNTED = (
  "Not counted: the start, tracing of programs, reports (about 20 s more the first"
  " time, a few the second)"
)
_COLUMNS = [field.name for field in dataclasses.fields(Row)]


def line(row: Row) -> str:
  """A row as the file has it."""
  return "\t".join(
    f"{value:.3g}" if isinstance(value, float) else str(value)
    for value in dataclasses.astuple(row)
  )


@functools.cache
def table() -> tuple[Row, ...]:
  """All rows."""
  lines = FILE.read_text("utf-8").splitlines()[1:]
  fields = (each.split("\t") for each in lines)
  return tuple(
    Row(platform, kind, name, int(px), float(ms), float(compile_s))
    for platform, kind, name, px, ms, compile_s in fields
  )


def write(rows: Iterable[Row]) -> None:
  """Puts rows in the place of those of the same stage; the others stay."""
  merged = {_key(row): row for row in (*table(), *rows)}
  lines = ["\t".join(_COLUMNS), *map(line, merged.values())]
  FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _key(row: Row) -> tuple[str, str, str, int]:
  return row.platform, row.kind, row.name, row.px


def rows(plan: plan_lib.Plan, costs: costs_lib.Costs) -> Iterator[Row]:
  """What was measured of a plan, as rows."""
  platform, px = jax.devices()[0].platform, plan_lib.image_px(plan)
  by_name = {c.name: c for c in plan.conditions}
  for (label, name), seconds in costs.corrupt_s.items():
    side = _side(plan, label)
    ms = 1e3 * seconds / _frames(plan, label, by_name[name])
    kind, named = plan.task.family.kind, name or plan.task.setting.codec
    if name or named in _CODERS:
      compile_s = costs.compile_s[label, name]
      yield Row(platform, kind, named, side, ms, compile_s)
  for label, seconds in costs.model_s.items():
    side = _side(plan, label)
    compile_s = costs.compile_s[label, costs_lib.NETWORK]
    yield Row(
      platform, costs_lib.NETWORK, label, side, 1e3 * seconds, compile_s
    )
  if costs.decode_s is not None and plan.task.family.kind == _PICTURES:
    ms = 1e3 * costs.decode_s
    yield Row(platform, _DECODE, _PICTURES, px, ms, 0.0)


def _side(plan: plan_lib.Plan, label: str) -> int:
  """Of what is corrupted: the set's pictures, or what a model is shown, px."""
  px = plan_lib.image_px(plan)
  return getattr(plan.model(label).spec, "input_px", px) if label else px


def _frames(plan: plan_lib.Plan, label: str, condition: Condition) -> int:
  """Pictures that one example is corrupted into."""
  shown = plan.task.images_per_example(condition)
  return (
    shown * getattr(plan.model(label).spec, "frames", 1) if label else shown
  )


def platform() -> str:
  """What the table calls the devices here; empty: it has no rows of them."""
  here = jax.devices()[0].platform
  return here if any(row.platform == here for row in table()) else ""


def words() -> str:
  """Where the times are from."""
  device = jax.devices()[0]
  if not platform():
    return (
      f". The stored table has no {device.device_kind}: --plan=measure measures"
      " here"
    )
  return (
    f". By a stored table, on {parallel()}"
    f" {'cores' if device.platform == 'cpu' else device.device_kind};"
    f" --plan=measure measures here. {_NOT_COUNTED}"
  )


def parallel() -> int:
  """Cores, or accelerators, that share the work."""
  cpu = jax.devices()[0].platform == "cpu"
  return len(os.sched_getaffinity(0)) if cpu else jax.device_count()


def costs(
  plan: plan_lib.Plan,
  workdir: Workdir | None,
  chosen: Sequence[tuple[str, Condition]],
) -> costs_lib.Costs:
  """What `costs.measure` gives, by the table; what it does not know is left out.

  Args:
    workdir: where it would run, whose data folder is looked into.
    chosen: (label, condition) of the cells.
  """
  px = plan_lib.image_px(plan)
  listed = list(dict.fromkeys(c for _, c in chosen))
  labels = list(dict.fromkeys(label for label, _ in chosen))
  made = dict(_corruptions(plan, labels, listed))
  networks = {label: _of_network(plan, label) for label in labels}
  known = {label: row for label, row in networks.items() if row}
  videos = plan.task.model_kind == "video"
  decode = None if videos else _nearest(_DECODE, _PICTURES, px)
  share = 1 / parallel()
  return costs_lib.Costs(
    examples=data_lib.num_examples(plan, workdir),
    decode_s=share * _seconds(decode, px) if decode else None,
    pixel_bytes=3.0 * px**2,
    corrupt_s={key: share * s for key, (s, _) in made.items()},
    model_s={label: share * 1e-3 * row.ms for label, row in known.items()},
    compile_s={key: share * s for key, (_, s) in made.items()}
    | {
      (label, costs_lib.NETWORK): share * row.compile_s
      for label, row in known.items()
    },
    cell_bytes={key: _cell_bytes(plan, *key) for key in chosen},
    batch_bytes=costs_lib.batch_bytes(plan, labels, listed),
    base_bytes=costs_lib.peak_bytes(),
  )


def expected(
  plan: plan_lib.Plan,
  workdir: Workdir | None,
  chosen: Sequence[tuple[str, Condition]],
) -> progress.Expected:
  """What a run's progress may expect of cells; arguments as of `costs`.

  Networks that the table lacks are compiled in the time of the middle one; how
  long images take is not known then.
  """
  known = costs(plan, workdir, chosen)
  if not platform() or not chosen:
    return progress.Expected()
  labels: dict[Condition, list[str]] = {}
  for label, condition in chosen:
    labels.setdefault(condition, []).append(label)
  first_s = dict.fromkeys((c.config for c in labels), 0.0)
  for condition in {c.name: c for c in reversed(labels)}.values():
    compiled = [
      s for (_, n), s in known.compile_s.items() if n == condition.name
    ]
    first_s[condition.config] = sum(compiled) / _programs(plan)
  first_s[next(iter(first_s))] += sum(
    known.compile_s.get((label, costs_lib.NETWORK), _middle_s())
    for label in dict.fromkeys(label for label, _ in chosen)
  )
  image_s = {c.config: _image_s(plan, known, c, labels[c]) for c in labels}
  every = {name: s for name, s in image_s.items() if s is not None}
  return progress.Expected(first_s, every if len(every) == len(image_s) else {})


def _middle_s() -> float:
  """To compile the middle network of the table."""
  here = platform()
  networks = [
    row.compile_s
    for row in table()
    if (row.platform, row.kind) == (here, costs_lib.NETWORK)
  ]
  return statistics.median(networks) / parallel()


def _image_s(
  plan: plan_lib.Plan,
  known: costs_lib.Costs,
  condition: Condition,
  labels: Sequence[str],
) -> float | None:
  """Seconds of an image that one of some models is shown, with its making."""
  made_for = labels if plan.task.per_model else [""]
  made_s = [known.corrupt_s.get((m, condition.name)) for m in made_for]
  models_s = [known.model_s.get(m) for m in labels]
  if None in made_s or None in models_s:
    return None
  images = plan.task.images_per_example(condition) * len(labels)
  return sum(filter(None, made_s)) / images + sum(filter(None, models_s)) / len(
    labels
  )


def _corruptions(
  plan: plan_lib.Plan, labels: Sequence[str], listed: Sequence[Condition]
) -> Iterator[tuple[tuple[str, str], tuple[float, float]]]:
  """((label, name), (seconds an example, to compile)) of those that are known."""
  programs = _programs(plan)
  for label in labels if plan.task.per_model else [""]:
    side = _side(plan, label)
    for condition in {c.name: c for c in listed}.values():
      stages = _stages(plan, condition, side)
      rows = [row for row in stages if row]
      if len(rows) == len(stages):
        frames = _frames(plan, label, condition)
        yield (
          (label, condition.name),
          (
            frames * sum(_seconds(row, side) for row in rows),
            programs * sum(row.compile_s for row in rows),
          ),
        )


def _programs(plan: plan_lib.Plan) -> int:
  """Of a corruption."""
  canvases = plan.task.sized and plan_lib.image_px(plan) > _ONE_CANVAS_PX
  return _CANVASES if canvases else 1


def _stages(
  plan: plan_lib.Plan, condition: Condition, px: int
) -> list[Row | None]:
  """What makes a picture or frame of a condition."""
  if not plan.fly:
    return []
  names = [condition.name] if condition.name else []
  names += [c for c in _CODERS if c == plan.task.setting.codec]
  return [_nearest(plan.task.family.kind, name, px) for name in names]


def _of_network(plan: plan_lib.Plan, label: str) -> Row | None:
  """A network's own row, else that of the nearest one of its kind, scaled."""
  if plan.own(label):
    return None
  name, known = plan.models[label].name, catalogue.gflops()
  kind = models.names(kind=plan.model(label).kind)
  same = {
    row.name: row
    for row in table()
    if (row.platform, row.kind) == (platform(), costs_lib.NETWORK)
  }
  if name in same or name not in known:
    return same.get(name)
  near = [
    (known[name] / known[other], row)
    for other, row in same.items()
    if other in known and other in kind
  ]
  if not near:
    return None
  times, row = min(near, key=lambda each: abs(math.log(each[0])))
  return dataclasses.replace(row, name=name, ms=row.ms * times)


def _cell_bytes(plan: plan_lib.Plan, label: str, condition: Condition) -> float:
  spec: Any = plan.model(label).spec
  if spec.kind == "detection":
    masks = "mask" in plan.models[label].name
    return spec.detections * (_BOX_BYTES + _MASK_BYTES * masks)
  return _ROW_BYTES * plan.task.images_per_example(condition)


def _nearest(kind: str, name: str, px: int) -> Row | None:
  """The row of a stage of the nearest size."""
  here = platform()
  fitting = [
    r for r in table() if (r.platform, r.kind, r.name) == (here, kind, name)
  ]
  return min(fitting, key=lambda r: abs(math.log(r.px / px)), default=None)


def _seconds(row: Row, px: int) -> float:
  """Of a picture of another size."""
  return 1e-3 * row.ms * (px / row.px) ** 2
