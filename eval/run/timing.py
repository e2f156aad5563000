"""Where a run's time went: compiling, reading, corrupting, the models, writing."""

from __future__ import annotations

import collections
import statistics

# Stages of which every entry counts; of the others the median of their samples.
_SUMS = ("prepare", "compile", "write", "wall")


class Stages:
  """Seconds by stage, and how many images they were for."""

  def __init__(self) -> None:
    """Nothing measured yet."""
    self._seconds: dict[str, list[float]] = collections.defaultdict(list)
    self.images = 0

  def add(self, stage: str, seconds: float) -> None:
    """One measurement; per image for `corrupt` and `infer ...`."""
    self._seconds[stage].append(seconds)

  def summary(
    self, *, waited_s: float, decoded: int, decoding_s: float
  ) -> dict[str, float]:
    """Numbers of the whole run, by name.

    Args:
      waited_s: how long the run stood still for the next batch.
      decoded: images that were decoded (a kept set is decoded once).
      decoding_s: time that the reading side itself worked on them.

    Returns:
      Seconds `prepare_s`, `compile_s`, `write_s`, `wall_s`, `waited_s`; seconds
      an image `corrupt_s` and `infer <model>_s`; rates in images/s `rate` (of
      the run without compilation), `input_rate` and `device_rate` (what either
      side does alone). What was not measured is absent.
    """
    out = {}
    for stage, seconds in self._seconds.items():
      total = stage in _SUMS
      out[f"{stage}_s"] = sum(seconds) if total else statistics.median(seconds)
    out["waited_s"] = waited_s
    work = out.get("wall_s", 0.0) - out.get("compile_s", 0.0)
    if self.images and work > 0:
      out["images"] = float(self.images)
      out["rate"] = self.images / work
    if decoded and decoding_s > 0:
      out["input_rate"] = decoded / decoding_s
    models = [v for k, v in out.items() if k.startswith("infer")]
    if sum(models) > 0:
      out["device_rate"] = len(models) / (sum(models) + out.get("corrupt_s", 0))
    return out
