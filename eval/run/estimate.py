"""`--plan`: the cells of a run, its work, disk and memory; measured, its time."""

import math
from collections.abc import Sequence

import jax

from eval.cells.workdir import Workdir
from eval.run import costs as costs_lib
from eval.run import plan as plan_lib
from eval.run.execution import one_pass
from eval.run.results import publish
from robust_tfds import durations
from robust_tfds.conditions import Condition
from robust_tfds.shards import WHOLE, Shard

_PER = 1000  # examples that are told of where their number is not known


def describe(
  plan: plan_lib.Plan,
  workdir: Workdir | None = None,
  shard: Shard = WHOLE,
  *,
  measure: bool = False,
) -> str:
  """Return the cells, the work, disk and memory as text; writes nothing.

  Args:
    workdir: where it would run, whose data folder is looked into.
    measure: compile and time what it needs; else no times are given.
  """
  chosen = shard.share(plan.cells)
  lines = [
    f"{plan.dataset}: {len(plan.conditions)} conditions"
    f" ({'clean + ' * plan.conditions[0].clean}{len(plan.names)}"
    f" {plan.task.facts.noun}s) x {len(plan.models)} models ="
    f" {len(plan.cells)} cells, edition {plan.task.setting.edition or 'none'},"
    f" {publish.how(plan)}"
  ]
  if shard.count > 1:
    lines.append(
      f"shard {shard}: {len(chosen)} of {len(plan.cells)} cells; what follows is"
      " of this shard"
    )
  lines += [*_cells(chosen), *plan.shown]
  if plan.left_out_note:
    lines.append(plan.left_out_note)
  for label in plan.models:
    lines += [f"{label}: {note}" for note in plan.notes(label)]
  how = costs_lib.measure if measure else costs_lib.unmeasured
  costs = how(plan, workdir, chosen)
  if measure:
    lines.append(_measured(plan, costs))
  return "\n".join(lines + _estimate(plan, costs, chosen, measure))


def _cells(chosen: Sequence[tuple[str, Condition]]) -> list[str]:
  """A line for all names that have the same levels and models."""
  of_name: dict[str, dict[Condition, None]] = {}
  models: dict[str, dict[str, None]] = {}
  for label, condition in chosen:
    of_name.setdefault(condition.name or "clean", {})[condition] = None
    models.setdefault(condition.name or "clean", {})[label] = None
  alike: dict[tuple[str, str], list[str]] = {}
  for name, listed in of_name.items():
    levels = ", ".join(str(c.level) for c in listed if not c.clean)
    alike.setdefault((levels, ", ".join(models[name])), []).append(name)
  return [
    f"  {', '.join(names)}{f' at {levels}' if levels else ''}: {labels}"
    for (levels, labels), names in alike.items()
  ]


def _measured(plan: plan_lib.Plan, costs: costs_lib.Costs) -> str:
  """What one example and one image cost."""
  models = [f"{label} {1e3 * s:.2f} ms" for label, s in costs.model_s.items()]
  decode = "known once the data set is prepared"
  if costs.decode_s is not None:
    decode = f"{1e3 * costs.decode_s:.2f} ms"
  of_examples = [f"decoding {decode}"]
  corrupted = [s for (_, name), s in costs.corrupt_s.items() if name]
  if plan.fly and corrupted:
    of_examples.append(
      f"corruption {1e3 * sum(corrupted) / len(corrupted):.2f} ms (mean of"
      f" {len(corrupted)}, {1e3 * min(corrupted):.2f} to"
      f" {1e3 * max(corrupted):.2f})"
    )
  elif plan.fly and plan.names and plan.task.per_model:
    of_examples.append("corruption known then too")
  return (
    f"measured here on one batch of {plan.config.batch_size} examples, per"
    f" {plan.task.unit}: {', '.join(models)}; per example:"
    f" {', '.join(of_examples)} ({jax.device_count()}"
    f" {jax.devices()[0].platform} device(s))"
  )


def _estimate(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  chosen: Sequence[tuple[str, Condition]],
  measured: bool,
) -> list[str]:
  """The lines of the whole run."""
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
  disk = sum(costs.cell_bytes[key] for key in chosen) * examples
  # Beside accelerators the host decodes while they work.
  beside = jax.devices()[0].platform != "cpu"
  work = f"{head}, {shown:,} {plan.task.unit}s in all"
  if measured:
    time = _time(plan, costs, chosen, examples, beside)
    work = f"estimate: {work}: {time}"
  else:
    work = f"work: {work}; how long it takes: --plan=measure, or the run's ETA"
  return [
    work,
    f"disk: {_size(disk)} of predictions, as much again until the end",
    _memory(
      plan, costs, len(dict.fromkeys(label for label, _ in chosen)), beside
    ),
  ]


def _time(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  chosen: Sequence[tuple[str, Condition]],
  examples: int,
  beside: bool,
) -> str:
  """How long all of it takes, and each stage."""
  listed = list(dict.fromkeys(c for _, c in chosen))
  reads = examples * (1 if plan.fly else len(listed))
  of_models = [
    _times(costs.model_s.get(m), plan.task.images_per_example(c))
    for m, c in chosen
  ]
  labels = dict.fromkeys(label for label, _ in chosen)
  stages = {
    "training": sum(_train_s(plan, costs, label) for label in labels),
    "compiling": sum(costs.compile_s.values()),
    "decoding": _times(costs.decode_s, reads),
    "corruption": _sum(_corrupt_s(plan, costs, listed, chosen), examples),
    "models": _sum(of_models, examples),
  }
  known = {stage: s or 0.0 for stage, s in stages.items()}
  decode, devices = known["decoding"], known["corruption"] + known["models"]
  whole = known["training"] + known["compiling"]
  whole += max(decode, devices) if beside else decode + devices
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
  """Of all examples; None where one is not known."""
  known = [s for s in seconds if s is not None]
  return examples * sum(known) if len(known) == len(seconds) else None


def _train_s(plan: plan_lib.Plan, costs: costs_lib.Costs, label: str) -> float:
  """Of a model's recipe: a step is three times the cost of its batch's answers."""
  recipe = plan.models[label].train
  if recipe is None:
    return 0.0
  return 3 * recipe.steps * recipe.batch_size * costs.model_s.get(label, 0.0)


def _memory(
  plan: plan_lib.Plan, costs: costs_lib.Costs, models: int, beside: bool
) -> str:
  """Return the line about the host's memory, and the accelerators'."""
  blocks = 2 * plan.config.data.block_mib << 20
  if costs.pixel_bytes is not None and costs.examples:
    blocks = min(blocks, math.ceil(costs.pixel_bytes * costs.examples))
  flight = (
    one_pass.IN_FLIGHT * models * max(costs.batch_bytes.values(), default=0)
  )
  whole = costs.base_bytes + blocks + (0 if beside else flight)
  return (
    f"memory: about {_size(whole)}: {_size(costs.base_bytes)} for the process"
    f" itself, {_size(blocks)} of decoded pixels (two blocks) at most,"
    f" {_size(flight)} in flight{' (on the devices)' if beside else ''}"
  )


def _corrupt_s(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  listed: Sequence[Condition],
  chosen: Sequence[tuple[str, Condition]],
) -> list[float | None]:
  """Seconds an example of every condition, or cell where models differ.

  None: not known.
  """
  if not plan.fly:
    return []
  if plan.task.per_model:
    return [costs.corrupt_s.get((m, c.name)) for m, c in chosen]
  return [costs.corrupt_s.get(("", c.name)) for c in listed]


def _size(count: float) -> str:
  """Bytes for people.

  >>> _size(3_400_000), _size(720_000_000), _size(5e9)
  ('3.2 MiB', '687 MiB', '4.7 GiB')
  """
  if count < 10 << 20:
    return f"{count / 2**20:.1f} MiB"
  if count < 1 << 30:
    return f"{count / 2**20:.0f} MiB"
  return f"{count / 2**30:.1f} GiB"
