"""report.html of a training: curves, pictures as the network saw them, the config.

The page is written after epochs and when a training ends, however it ends, so
that a killed one has a page too. A page that fails is reported, and stops
nothing.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from models.training.monitoring import sheet
from robust_tfds import durations
from robust_tfds.html_pages import template
from robust_tfds.storage import disk

if TYPE_CHECKING:
  from etils import epath

  from models.training.disclosure import Disclosure
  from models.training.run import Prepared
  from robust_tfds.charts.svg import Chart
  from robust_tfds.html_pages.pictures import Line

FILE = "report.html"
_EVERY_S = 10.0  # least time between two pages
_VALIDATION = "validation_"
_NO_CURVES = ("step", "seconds")
_FIRST = ("loss", "error", "learning_rate")  # charts
_MANY = 60  # points of a line that are drawn without markers
_FILES = {
  "metrics.csv": "the numbers of the curves",
  "config.json": "the config",
  "weights.npz": "the weights",
  "weights_ema.npz": "their mean over the steps, which the folder stands for",
  "disclosure.json": "what they were trained on",
}
_TEMPLATES = template.Templates(pathlib.Path(__file__).parent / "templates")


class Report:
  """The page of a training under way."""

  def __init__(
    self,
    prepared: Prepared,
    workdir: epath.Path,
    steps: int,
    say: Callable[[str], None],
  ):
    """Prepare the page; draws nothing yet.

    Args:
      steps: number of steps of the whole training.
      say: receives a line if the page fails.
    """
    self._prepared, self._workdir = prepared, workdir
    self._steps, self._say = steps, say
    self._written: float | None = None
    self._sheet: list[Line] | None = None

  def after_epoch(self, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the page, unless it was written just now."""
    if self._written is None or time.monotonic() - self._written >= _EVERY_S:
      self.write(lines)

  def write(self, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the page.

    Args:
      lines: the lines of metrics.csv.
    """
    try:
      disk.write_text(self._workdir / FILE, self._html(lines), sync=False)
    except Exception as e:  # a failed page must not end a training
      self._say(f"{FILE} could not be written: {type(e).__name__}: {e}")
    self._written = time.monotonic()

  def _html(self, lines: Sequence[Mapping[str, Any]]) -> str:
    prepared = self._prepared
    if self._sheet is None:
      self._sheet = sheet.lines(prepared)
    disclosure = prepared.disclosure(self._steps, "")
    validated = any(f"{_VALIDATION}loss" in line for line in lines)
    return _TEMPLATES.page(
      "training.html",
      "",
      sheets=("pictures.css", "training.css"),
      title=f"{prepared.model.name}, {disclosure.recipe['name']} on {disclosure.data}",
      sentences=list(sentences(lines, self._steps)),
      charts=drawn(lines),
      legend=" Dashed: on validation data." * validated,
      lines=self._sheet,
      disclosure=_disclosed(disclosure),
      config=_flat(prepared.config.model_dump(exclude_unset=True)),
      files={f: w for f, w in _FILES.items() if (self._workdir / f).exists()},
    )


def sentences(lines: Sequence[Mapping[str, Any]], steps: int) -> Iterator[str]:
  """Yield the progress of a training and its numbers as sentences.

  >>> list(sentences([{"step": 5, "seconds": 2.0, "loss": 0.5}], 10))
  ['Step 5 of 10, 2s of training, about 2s left.', 'loss 0.5']
  """
  if not lines:
    yield f"No line yet, of {steps:,} steps."
    return
  last = lines[-1]
  step, took = last["step"], durations.text(last["seconds"])
  if step >= steps:
    yield f"{steps:,} steps, done; {took} of training."
  else:
    left = durations.text(_pace(lines) * (steps - step))
    yield f"Step {step:,} of {steps:,}, {took} of training, about {left} left."
  shown = {k: v for k, v in last.items() if k not in _NO_CURVES}
  yield ", ".join(f"{_words(k)} {v:.4g}" for k, v in shown.items())
  name = f"{_VALIDATION}error"
  known = [line for line in lines if name in line]
  if known:
    best = min(known, key=lambda line: line[name])
    at = f"after step {best['step']:,}"
    yield f"Least validation error: {best[name]:.4g}, {at}."


def _pace(lines: Sequence[Mapping[str, Any]]) -> float:
  """Return the seconds a step, from the last two lines."""
  last = lines[-1]
  before = lines[-2] if len(lines) > 1 else {"step": 0, "seconds": 0.0}
  took = float(last["seconds"] - before["seconds"])
  return took / max(last["step"] - before["step"], 1)


def drawn(lines: Sequence[Mapping[str, Any]]) -> list[Chart]:
  """Draw a chart for each number, with that of the validation data dashed.

  The result is [] without lines.
  """
  measured = dict.fromkeys(name for line in lines for name in line)
  first = [name for name in _FIRST if name in measured]
  return [
    _chart(name, _over_steps(lines, name), _over_steps(lines, held))
    for name in dict.fromkeys([*first, *measured])
    if name not in _NO_CURVES and not name.startswith(_VALIDATION)
    for held in [_VALIDATION + name]
  ]


def _over_steps(
  lines: Sequence[Mapping[str, Any]], name: str
) -> dict[float, float]:
  return {line["step"]: line[name] for line in lines if name in line}


def _chart(
  name: str, values: Mapping[float, float], held: Mapping[float, float]
) -> Chart:
  """Draw a number over steps; `held` is the same on validation data."""
  from robust_tfds.charts import lines as chart_lines
  from robust_tfds.charts import style, svg
  from robust_tfds.charts.frame import Frame

  words = _words(name)
  solid = {"marker": ".", "markersize": 4 if len(values) < _MANY else 0}
  dashed = {**solid, "linestyle": "--"}
  panel = chart_lines.Panel(
    [
      chart_lines.Line(
        label, [*points], [*map(style.Value, points.values())], 0, looks=looks
      )
      for label, points, looks in (
        (words, values, solid),
        (f"validation {words}", held, dashed),
      )
    ]
  )
  every = [*values.values(), *held.values()]
  ends = min([0.0, *every]), 1.05 * max([0.0, *every]) or 1.0
  margins = (0.6, 0.3, 0.2, 0.1)
  frame = Frame(3.6, 2.0, y_ends=ends, margins=margins)
  label = f"{words}: {_ends(values)}"
  label += f"; on validation data: {_ends(held)}" if held else ""
  figure = chart_lines.draw([panel], frame)
  return svg.Chart(words, label, style.svg_text(figure, name))


def _ends(values: Mapping[float, float]) -> str:
  first, *_, last = [*values.values()] * 2
  return f"{first:.4g} to {last:.4g} at step {max(values):,}"


def _words(name: str) -> str:
  return name.replace("_", " ")


def _disclosed(disclosed: Disclosure) -> dict[str, str]:
  """Return what the network will disclose, in words."""
  seen = disclosed.corruptions_seen
  conditions = "not stated" if seen is None else ", ".join(seen) or "none"
  return {
    "trained on": disclosed.trained_on,
    "examples": f"{disclosed.examples:,}",
    "conditions of benchmarks seen": conditions,
    "mixed in": disclosed.pictures or "nothing",
    "seed": str(disclosed.seed),
    "initial weights, sha256": disclosed.initial,
    "robust_tfds": disclosed.code,
  }


def _flat(config: Mapping[str, Any], start: str = "") -> dict[str, str]:
  """Flatten a config to the keys and values that a command writes."""
  out: dict[str, str] = {}
  for key, value in config.items():
    if isinstance(value, Mapping):
      out |= _flat(value, f"{start}{key}.")
    else:
      out[f"{start}{key}"] = "empty" if value in ("", (), []) else str(value)
  return out
