"""`--plan`: the cells of a run, its work, disk and memory, and its time if measured."""

import math
from collections.abc import Sequence

import jax

from eval.cells.workdir import Workdir
from eval.run import adapt as adapt_lib
from eval.run import costs as costs_lib
from eval.run import plan as plan_lib
from eval.run.execution import one_pass
from eval.run.results import publish
from robust_tfds import durations
from robust_tfds.conditions import Condition
from robust_tfds.shards import WHOLE, Shard

_PER = 1000  # examples that the numbers are for if the number is unknown


def describe(
  plan: plan_lib.Plan,
  workdir: Workdir | None = None,
  shard: Shard = WHOLE,
  *,
  measure: bool = False,
) -> str:
  """Return the run's cells, work, disk and memory as text; write nothing.

  Args:
    workdir: where it would run; the data set may be prepared there.
    measure: whether to compile and time the run's programs; else no times are given.
  """
  chosen = shard.share(plan.cells)
  origin = publish.pixel_origin(plan)
  parts = ["clean"] * plan.conditions[0].clean
  parts += [_count(len(plan.names), plan.task.facts.noun)] * bool(plan.names)
  lines = [
    f"{plan.dataset}: {_count(len(plan.conditions), 'condition')}"
    f" ({' + '.join(parts)}) x"
    f" {_count(len(plan.models), 'model')} ="
    f" {_count(len(plan.cells), 'cell')}, edition {plan.task.setting.edition or 'none'},"
    f" {origin}"
  ]
  if shard.count > 1:
    lines.append(
      f"shard {shard}: {len(chosen)} of {len(plan.cells)} cells; what follows is"
      " of this shard"
    )
  lines += [*_cells(chosen), *plan.crop_lines]
  if plan.left_out_note:
    lines.append(plan.left_out_note)
  if plan.adapts:
    count = adapt_lib.passes(plan.adapts, plan.conditions)
    lines.append(
      f"adaptation: {count} pass{'es' * (count > 1)} over the set: one serves all"
      " conditions that begin anew, a stream takes one a condition"
    )
  for label in plan.models:
    lines += [f"{label}: {note}" for note in plan.notes(label)]
  find = costs_lib.measure if measure else costs_lib.count
  costs = find(plan, workdir, chosen)
  if measure:
    lines.append(_measured(plan, costs))
  return "\n".join(lines + _estimate(plan, costs, chosen, measure))


def _count(number: int, noun: str) -> str:
  """Return a number of things in words: `1 model`, `2 models`."""
  return f"{number} {noun}{'s' * (number != 1)}"


def _cells(chosen: costs_lib.CellKeys) -> list[str]:
  """Return the lines about cells; corruptions with equal levels and models share one."""
  levels: dict[str, dict[str, None]] = {}
  models: dict[str, dict[str, None]] = {}
  for label, condition in chosen:
    name = condition.name or "clean"
    level = {} if condition.clean else {str(condition.level): None}
    levels.setdefault(name, {}).update(level)
    models.setdefault(name, {})[label] = None
  names: dict[tuple[str, str], list[str]] = {}
  for name in levels:
    key = ", ".join(levels[name]), ", ".join(models[name])
    names.setdefault(key, []).append(name)
  return [
    f"  {', '.join(same)}{f' at {levels_text}' * bool(levels_text)}: {labels}"
    for (levels_text, labels), same in names.items()
  ]


def _measured(plan: plan_lib.Plan, costs: costs_lib.Costs) -> str:
  """Return the line about the times of one example and one image."""
  models = [f"{label} {1e3 * s:.2f} ms" for label, s in costs.model_s.items()]
  decode = "known once the data set is prepared"
  if costs.decode_s is not None:
    decode = f"{1e3 * costs.decode_s:.2f} ms"
  per_example = [f"decoding {decode}"]
  corrupted = [s for (_, name), s in costs.corrupt_s.items() if name]
  if plan.fly and corrupted:
    per_example.append(
      f"corruption {1e3 * sum(corrupted) / len(corrupted):.2f} ms (mean of"
      f" {len(corrupted)}, {1e3 * min(corrupted):.2f} to"
      f" {1e3 * max(corrupted):.2f})"
    )
  elif plan.fly and plan.names and plan.task.per_model:
    per_example.append("corruption known then too")
  return (
    f"measured here on one batch of {plan.config.batch_size} examples, per"
    f" {plan.task.unit}: {', '.join(models)}; per example:"
    f" {', '.join(per_example)} ({jax.device_count()}"
    f" {jax.devices()[0].platform} device(s))"
  )


def _estimate(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  chosen: costs_lib.CellKeys,
  measured: bool,
) -> list[str]:
  """Return the lines about the whole run."""
  examples = costs.examples or _PER
  disk = sum(costs.cell_bytes[key] for key in chosen) * examples
  models = len({label for label, _ in chosen})
  return [
    work(plan, costs, chosen, measured),
    f"disk: {_size(disk)} of predictions, as much again until the end",
    _memory(plan, costs, models, _accelerated()),
  ]


def work(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  chosen: costs_lib.CellKeys,
  measured: bool,
) -> str:
  """Return the line about the number of images and, if measured, the time."""
  examples = costs.examples or _PER
  head = f"{examples:,} examples a cell"
  if costs.examples is None:
    head = (
      f"for every {_PER:,} examples (their number is known once the data set is"
      " prepared)"
    )
  listed = list(dict.fromkeys(c for _, c in chosen))
  images = {c: plan.task.images_per_example(c) for c in listed}
  shown = sum(images[c] for _, c in chosen) * examples
  text = f"{head}, {shown:,} {plan.task.unit}s in all"
  if not measured:
    return f"work: {text}; how long it takes: --plan=measure, or the run's ETA"
  time = _time(plan, costs, chosen, examples, _accelerated())
  return f"estimate: {text}: {time}"


def _accelerated() -> bool:
  """Return whether models run on accelerators, so that the host decodes meanwhile."""
  return jax.devices()[0].platform != "cpu"


def _time(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  chosen: costs_lib.CellKeys,
  examples: int,
  accelerated: bool,
) -> str:
  """Return a text with the time of the run and of each stage."""
  conditions = list(dict.fromkeys(c for _, c in chosen))
  reads = examples * (1 if plan.fly else len(conditions))
  model_s = [
    _times(costs.model_s.get(m), plan.task.images_per_example(c))
    for m, c in chosen
  ]
  labels = dict.fromkeys(label for label, _ in chosen)
  stages = {
    "training": sum(_train_s(plan, costs, label) for label in labels),
    "compiling": sum(costs.compile_s.values()),
    "decoding": _times(costs.decode_s, reads),
    "corruption": _sum(_corrupt_s(plan, costs, conditions, chosen), examples),
    "models": _sum(model_s, examples),
  }
  known = {stage: s or 0.0 for stage, s in stages.items()}
  decode, devices = known["decoding"], known["corruption"] + known["models"]
  whole = known["training"] + known["compiling"]
  whole += max(decode, devices) if accelerated else decode + devices
  words = [
    f"{stage} {'not known' if s is None else durations.text(s)}"
    for stage, s in stages.items()
    if s != 0
  ]
  left = " and what is not known" * (None in stages.values())
  return f"about {durations.text(whole)}{left}: {', '.join(words)}"


def _times(seconds: float | None, count: float) -> float | None:
  return None if seconds is None else seconds * count


def _sum(seconds: Sequence[float | None], examples: int) -> float | None:
  """Return the seconds of all examples; None if a part is unknown."""
  known = [s for s in seconds if s is not None]
  return examples * sum(known) if len(known) == len(seconds) else None


def _train_s(plan: plan_lib.Plan, costs: costs_lib.Costs, label: str) -> float:
  """Estimate the seconds of training; a step costs three forward passes."""
  recipe = plan.models[label].train
  if recipe is None:
    return 0.0
  return 3 * recipe.steps * recipe.batch_size * costs.model_s.get(label, 0.0)


def _memory(
  plan: plan_lib.Plan, costs: costs_lib.Costs, models: int, accelerated: bool
) -> str:
  """Return the line about the memory of the host and of the accelerators."""
  blocks = 2 * plan.config.data.block_mib << 20
  if costs.pixel_bytes is not None and costs.examples:
    blocks = min(blocks, math.ceil(costs.pixel_bytes * costs.examples))
  flight = (
    one_pass.IN_FLIGHT * models * max(costs.batch_bytes.values(), default=0)
  )
  whole = costs.base_bytes + blocks + (0 if accelerated else flight)
  return (
    f"memory: about {_size(whole)}: {_size(costs.base_bytes)} for the process"
    f" itself, {_size(blocks)} of decoded pixels (two chunks) at most,"
    f" {_size(flight)} in flight{' (on the devices)' if accelerated else ''}"
  )


def _corrupt_s(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  conditions: Sequence[Condition],
  chosen: costs_lib.CellKeys,
) -> list[float | None]:
  """Return the seconds per example of each condition; None: unknown.

  If every model sees pixels of its own, there is a number for each cell.
  """
  if not plan.fly:
    return []
  if plan.task.per_model:
    return [costs.corrupt_s.get((m, c.name)) for m, c in chosen]
  return [costs.corrupt_s.get(("", c.name)) for c in conditions]


def _size(count: float) -> str:
  """Format a number of bytes.

  >>> _size(3_400_000), _size(720_000_000), _size(5e9)
  ('3.2 MiB', '687 MiB', '4.7 GiB')
  """
  if count < 10 << 20:
    return f"{count / 2**20:.1f} MiB"
  if count < 1 << 30:
    return f"{count / 2**20:.0f} MiB"
  return f"{count / 2**30:.1f} GiB"
