"""Where the time went, and which side, input or device, held the other up."""

from __future__ import annotations

import pathlib

from eval import reports
from eval.reports import leaderboard_markdown

TASKS = ("classification", "sequences", "frames", "detection", "video")


def write(context: reports.Context, folder: pathlib.Path) -> list[pathlib.Path]:
  """Writes throughput.md; nothing where this launch ran no cell."""
  timing = context.timing
  if "rate" not in timing:
    return []
  lines = [
    "# Throughput of this launch\n",
    "| what | value |\n|---|---:|",
    f"| images through the models | {timing['images']:,.0f} |",
    f"| images/s, without compilation | {timing['rate']:,.1f} |",
    f"| compilation | {timing.get('compile_s', 0.0):.1f} s |",
    f"| waiting for input | {timing['waited_s']:.1f} s |",
  ]
  for key, seconds in timing.items():
    if key.startswith(("corrupt", "infer")):
      name = leaderboard_markdown.escape(key.removesuffix("_s"))
      lines.append(
        f"| {name}, a batch by itself | {1e3 * seconds:.3f} ms an image |"
      )
  for key, name in (("input_rate", "input"), ("device_rate", "devices")):
    if key in timing:
      lines.append(f"| {name} alone | {timing[key]:,.1f} images/s |")
  lines.append(f"\n{_verdict(timing)}\n")
  path = folder / "throughput.md"
  path.write_text("\n".join(lines), "utf-8")
  return [path]


def _verdict(timing) -> str:
  work = timing["wall_s"] - timing.get("compile_s", 0.0)
  share = timing["waited_s"] / work if work > 0 else 0.0
  bound = "input" if share > 0.5 else "device"
  return (
    f"{bound.capitalize()}-bound: {100 * share:.0f} % of the time after"
    " compilation went by waiting for input."
  )
