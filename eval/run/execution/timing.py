"""The time of a run by stage: compiling, reading, corrupting, models, writing."""

import collections
import statistics
import threading
import time
from collections.abc import Mapping
from typing import Any

from robust_tfds import durations

_MUCH = 0.2  # share of waiting for pictures from which a hint is printed
_LONG_S = 60.0  # runs that take less are left alone
# Stages of which every entry counts; of the others the median of their samples.
_SUMS = ("prepare", "compile", "read", "waited", "write", "score", "wall")


class Stages:
  """Seconds by stage, and how long the devices had nothing to do.

  Several threads may report.
  """

  def __init__(self) -> None:
    """Start without measurements."""
    self._seconds: dict[str, list[float]] = collections.defaultdict(list)
    self._lock = threading.Lock()
    self._given = self._fetched = 0  # batches' outputs
    self._ready_at = 0.0
    self._idle_s = self._busy_from = 0.0
    self._watched = 0  # outputs since then
    self.images = 0

  def add(self, stage: str, seconds: float) -> None:
    """Add a measurement; per image for `corrupt` and `infer ...`."""
    with self._lock:
      self._seconds[stage].append(seconds)

  def watch(self) -> None:
    """Start counting idle devices: the first block is over."""
    with self._lock:
      if not self._busy_from:
        self._busy_from = self._ready_at = time.perf_counter()

  def count_given(self) -> None:
    """Note that the devices got work whose outputs will be fetched."""
    with self._lock:
      if self._busy_from:
        self._watched += 1
        if self._given == self._fetched:
          self._idle_s += time.perf_counter() - self._ready_at
      self._given += 1

  def count_fetched(self) -> None:
    """Record that the outputs of the oldest work have arrived."""
    with self._lock:
      self._fetched += 1
      self._ready_at = time.perf_counter()

  def summary(
    self, decoded: Mapping[str, tuple[int, int]]
  ) -> dict[str, float | dict[str, float]]:
    """Return numbers of the whole run, by name.

    Args:
      decoded: set -> how many examples were decoded, how many there are.

    Returns:
      What was measured of these:
        `prepare_s`, `write_s`, `score_s`, `wall_s`: seconds of the run.
        `compile_s`: seconds in which the run waited for compilation.
        `read_s`: seconds that the reading thread worked.
        `waited_s`: seconds in which the devices' thread waited for that one.
        `corrupt_s`, `infer <model>_s`: seconds an image.
        `images`, `rate`: images, and images/s of the run without compilation.
        `input_rate`: examples/s that are read where nothing else is done.
        `device_rate`: images/s of the devices where nothing is waited for.
        `idle_share`: part of the time after the first block in which the devices
          had nothing to do.
        `reads`: set -> decoded examples for each of its examples.
    """
    out: dict[str, float | dict[str, float]] = {}
    totals: dict[str, float] = {}
    for stage, seconds in self._seconds.items():
      total = stage in _SUMS
      value = sum(seconds) if total else statistics.median(seconds)
      totals[stage] = out[f"{stage}_s"] = value
    work = totals.get("wall", 0.0) - totals.get("compile", 0.0)
    if self.images and work > 0:
      out["images"] = float(self.images)
      out["rate"] = self.images / work
    rows = sum(count for count, _ in decoded.values())
    if rows and totals.get("read", 0.0) > 0:
      out["input_rate"] = rows / totals["read"]
    models = [v for k, v in totals.items() if k.startswith("infer")]
    if sum(models) > 0:
      out["device_rate"] = len(models) / (
        sum(models) + totals.get("corrupt", 0.0)
      )
    if self._watched and self._ready_at > self._busy_from:
      out["idle_share"] = self._idle_s / (self._ready_at - self._busy_from)
    out["reads"] = {name: n / total for name, (n, total) in decoded.items()}
    return out


def lines(
  took: Mapping[str, Any], total_s: float, devices: str, cores: int
) -> list[str]:
  """Return a text about where a run's time went; empty if it computed nothing.

  Args:
    took: result of `Stages.summary`.
    total_s: seconds of the whole run.
    devices: what computed, `1 × H200`.
    cores: how many read.

  Returns:
    A line, and one more if the devices waited for pictures for over a fifth of
    at least a minute.
  """
  wall, prepared = took.get("wall_s", 0.0), took.get("prepare_s", 0.0)
  if not wall:
    return []
  waited, compiled = took.get("waited_s", 0.0), took.get("compile_s", 0.0)
  # Not measured within the first block: all that was waited for counts.
  idle = took.get("idle_share", waited / wall)
  parts = {
    "looking for the data": prepared,
    "loading models and scoring": total_s - wall - prepared,
    "compiling": compiled,
    "waiting for pictures": waited,
  }
  spent = [f"{durations.text(s)} {what}" for what, s in parts.items() if s >= 1]
  computed = durations.text(wall - waited - compiled)
  busy = 1 - took.get("idle_share", waited / ((wall - compiled) or wall))
  spent.append(f"{computed} on {devices}, {busy:.0%} busy")
  out = [f"took {durations.text(total_s)}: {', '.join(spent)}"]
  if idle > _MUCH and wall >= _LONG_S:
    out.append(
      f"{devices} waited {idle:.0%} of the time for pictures, which"
      f" {cores} core{'s' * (cores > 1)} read: more cores, a set that is prepared"
      " (robust-tfds build, data_dir), or more models and conditions in one run,"
      " which share what is read, make it faster."
    )
  return out
