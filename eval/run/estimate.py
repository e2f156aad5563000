"""What a run would do, how long, in how much memory and disk: `--plan`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax

from robust_tfds import durations
from robust_tfds.conditions import Condition
from robust_tfds.eval.cells.workdir import Workdir
from robust_tfds.eval.run import costs as costs_lib
from robust_tfds.eval.run import one_pass, publish
from robust_tfds.eval.run import plan as plan_lib
from robust_tfds.shards import WHOLE, Shard

_PER = 1000  # examples that are told of where their number is not known


def describe(
  plan: plan_lib.Plan, workdir: Workdir | None = None, shard: Shard = WHOLE
) -> str:
  """The cells, the work and an estimate as text; writes nothing.

  Args:
    plan: of the run.
    workdir: where it would run, whose data folder is looked into.
    shard: which of the cells.
  """
  chosen = shard.of(plan.cells)
  lines = [
    f"{plan.dataset}: {len(plan.conditions)} conditions (clean +"
    f" {len(plan.names)} {plan.task.facts.noun}s) x {len(plan.models)} models ="
    f" {len(plan.cells)} cells, edition {plan.task.setting.edition or 'none'},"
    f" {publish.how(plan)}",
  ]
  if shard.count > 1:
    lines.append(
      f"shard {shard}: {len(chosen)} of {len(plan.cells)} cells; what follows is"
      " of this shard"
    )
  by_condition: dict[Condition, list[str]] = {}
  for label, condition in chosen:
    by_condition.setdefault(condition, []).append(label)
  lines += [f"  {c.config}: {', '.join(m)}" for c, m in by_condition.items()]
  costs = costs_lib.measure(plan, workdir, chosen)
  lines.append(_measured(plan, costs))
  lines += _estimate(plan, costs, chosen)
  return "\n".join(lines)


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
) -> list[str]:
  """The lines of the whole run."""
  examples = costs.examples or _PER
  known = costs.examples is not None
  head = f"{examples:,} examples a cell"
  if not known:
    head = (
      f"for every {_PER:,} examples (their number is known once the data set is"
      " prepared)"
    )
  listed = list(dict.fromkeys(c for _, c in chosen))
  images = {c: plan.task.images_per_example(c) for c in listed}
  reads = 1 if plan.fly else len(listed)
  decode = (costs.decode_s or 0.0) * reads * examples
  corrupt = sum(_corrupt_s(plan, costs, listed, chosen)) * examples
  model = sum(costs.model_s[m] * images[c] for m, c in chosen) * examples
  # Beside accelerators the host decodes while they work.
  beside = jax.devices()[0].platform != "cpu"
  whole = max(decode, corrupt + model) if beside else decode + corrupt + model
  shown = sum(images[c] for _, c in chosen) * examples
  disk = sum(costs.cell_bytes[key] for key in chosen) * examples
  decoding, corruption = durations.text(decode), durations.text(corrupt)
  if costs.decode_s is None:
    decoding = "unknown and left out"
    if plan.task.per_model and plan.fly:
      corruption = decoding
  return [
    f"estimate: {head}, {shown:,} {plan.task.unit}s in all: about"
    f" {durations.text(whole)} after compilation: decoding {decoding},"
    f" corruption {corruption}, models {durations.text(model)}",
    f"disk: {_size(disk)} of predictions, as much again until the end",
    _memory(plan, costs, beside),
  ]


def _memory(plan: plan_lib.Plan, costs: costs_lib.Costs, beside: bool) -> str:
  """The line of the host's memory, and of what is on accelerators."""
  blocks = 2 * plan.config.data.block_mib << 20
  if costs.pixel_bytes is not None and costs.examples:
    blocks = min(blocks, math.ceil(costs.pixel_bytes * costs.examples))
  flight = (
    one_pass.IN_FLIGHT
    * len(costs.model_s)
    * max(costs.batch_bytes.values(), default=0)
  )
  whole = costs.base_bytes + blocks + (0 if beside else flight)
  return (
    f"memory: about {_size(whole)}: {_size(costs.base_bytes)} that this process"
    f" needed until now, {_size(blocks)} of decoded pixels (two blocks) at most,"
    f" {_size(flight)} in flight{' (on the devices)' if beside else ''}"
  )


def _corrupt_s(
  plan: plan_lib.Plan,
  costs: costs_lib.Costs,
  listed: Sequence[Condition],
  chosen: Sequence[tuple[str, Condition]],
) -> list[float]:
  """Seconds an example of every condition, or cell where models differ."""
  if plan.task.per_model:
    return [costs.corrupt_s.get((m, c.name), 0.0) for m, c in chosen]
  if not plan.fly:
    return []
  return [costs.corrupt_s.get(("", c.name), 0.0) for c in listed]


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
