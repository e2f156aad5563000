"""The speed of a run, and whether input or devices limited it."""

from collections.abc import Mapping

from eval.report.reports import base
from eval.tables import markdown
from eval.tables.context import Context


class Throughput(base.TextReport):
  """The rates of this launch and of its stages, and the verdict."""

  file = "throughput.md"

  def text(self, context: Context) -> str:
    timing = context.timing
    if "rate" not in timing:
      return ""
    lines = [
      "# Throughput of this launch\n",
      markdown.table(["what", "value"], _amounts(timing), "lr"),
      f"\n{_verdict(timing)}\n",
    ]
    return "\n".join(lines)


def _amounts(timing: Mapping[str, float]) -> list[tuple[str, str]]:
  """Return (what, how much) for every line of the table."""
  compile_s = timing.get("compile_s", 0.0)
  amounts = [
    ("images through the models", f"{timing['images']:,.0f}"),
    ("images/s, without compilation", f"{timing['rate']:,.1f}"),
    ("compilation", f"{compile_s:.1f} s"),
    ("waiting for input", f"{timing['waited_s']:.1f} s"),
  ]
  for key, seconds in timing.items():
    if key.startswith(("corrupt", "infer")):
      stage = markdown.escape(key.removesuffix("_s"))
      each = f"{1e3 * seconds:.3f} ms an image"
      amounts.append((f"{stage}, a batch by itself", each))
  if "input_rate" in timing:
    amounts.append(("reading alone", f"{timing['input_rate']:,.1f} examples/s"))
  if "device_rate" in timing:
    amounts.append(("devices alone", f"{timing['device_rate']:,.1f} images/s"))
  if "idle_share" in timing:
    idle = f"{100 * timing['idle_share']:.1f} % of the time"
    amounts.append(("devices idle after the first chunk", idle))
  return amounts


def _verdict(timing: Mapping[str, float]) -> str:
  work = timing["wall_s"] - timing.get("compile_s", 0.0)
  share = timing["waited_s"] / work if work > 0 else 0.0
  bound = "input" if share > 0.5 else "device"
  return (
    f"{bound.capitalize()}-bound: {100 * share:.0f} % of the time after"
    " compilation went by waiting for input."
  )
