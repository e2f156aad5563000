"""The paragraph "In short" of docs/TRAINING.md, from what its tables show."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tools import (
  training_differences,
  training_guide,
  training_measures,
)
from tools.training_differences import Compared, Comparison
from tools.training_runs import Line

_STEPS, _GRADIENTS = "at equal steps", "at equal gradients"


def text(
  every: Mapping[str, Sequence[Line]], compared: Mapping[str, Compared]
) -> Iterator[str]:
  """A sentence a recipe.

  Args:
    every: kind -> its trainings.
    compared: kind -> what the page's tables have of them.
  """
  yield training_guide.SHORT
  for kind, lines in every.items():
    if lines:
      yield training_guide.SHORT_OF[kind]
      yield from _of_kind(kind, lines, compared[kind])


def _of_kind(
  kind: str, lines: Sequence[Line], compared: Compared
) -> Iterator[str]:
  """A kind's sentences; the rows of which nothing is shown in one."""
  if len(compared) > 1:
    yield _wrapped(f"- {_agreed(kind, compared)}")
  silent = []
  for row in dict.fromkeys(line.row for line in lines):
    parts = _parts(row, kind, compared)
    if any(said for _, said in parts):
      means = "; ".join(_means(kind, lines, row, compared))
      words = "; ".join(f"{at} {said or 'nothing'}" for at, said in parts)
      yield _wrapped(f"- `{row}` ({means}): {words}.")
    elif parts:
      silent.append(f"`{row}`")
  if silent:
    yield _wrapped(f"- Nothing is shown of {', '.join(silent)}.")


def _agreed(kind: str, compared: Compared) -> str:
  """What all networks show, at equal gradients."""
  last = [
    {
      x.row: x for x in (*steps, *gradients)
    }  # of gradients, where there are any
    for steps, gradients in compared.values()
  ]
  found: dict[str, list[str]] = {}
  for row in last[0]:
    each = [x[row] for x in last if row in x]
    for name in training_measures.told(kind) if len(each) == len(last) else ():
      senses = {_sense(kind, x, name) for x in each}
      if len(senses) == 1 and all(senses):
        found.setdefault(f"{senses.pop()} in {name}", []).append(f"`{row}`")
  said = "; ".join(f"{what} {', '.join(r)}" for what, r in found.items())
  return f"All networks show, at equal gradients: {said or 'nothing'}."


def _parts(row: str, kind: str, compared: Compared) -> list[tuple[str, str]]:
  """What it is held against, and what is shown then."""
  steps = [x for both in compared.values() for x in both[0] if x.row == row]
  gradients = [x for both in compared.values() for x in both[1] if x.row == row]
  parts = [(_STEPS, steps), (_GRADIENTS, gradients)]
  many = len(compared) > 1
  return [(at, _said(kind, found, many)) for at, found in parts if found]


def _said(kind: str, comparisons: Sequence[Comparison], many: bool) -> str:
  """`better in weather (both), in noise (digits_resnet); worse in clean (both)`."""
  columns: dict[str, dict[str, list[str]]] = {"better": {}, "worse": {}}
  for name in training_measures.told(kind):
    for sense in columns:
      networks = [
        x.network for x in comparisons if _sense(kind, x, name) == sense
      ]
      if networks:
        columns[sense].setdefault(_on(networks, many), []).append(name)
  return ", ".join(
    f"{sense} in {', in '.join(', '.join(n) + on for on, n in where.items())}"
    for sense, where in columns.items()
    if where
  )


def _sense(kind: str, comparison: Comparison, name: str) -> str:
  """Return `better` or `worse`; empty if another column says so or it may be chance.

  That of the seeds or of the test's examples.
  """
  cell = comparison.cells[name]
  whole = name.removesuffix("held out").strip() or "mean"
  repeats = whole != name and cell == comparison.cells[whole]
  examples = training_measures.EXAMPLES[kind]
  is_rate = training_measures.is_rate(name)
  if repeats or not is_rate or not cell.holds(examples):
    return ""
  return "better" if cell.mean * training_measures.sense(kind) > 0 else "worse"


def _on(networks: Sequence[str], many: bool) -> str:
  """Where it is shown, of kinds that have several networks."""
  if not many:
    return ""
  return " (both)" if len(networks) > 1 else f" ({networks[0]})"


def _means(
  kind: str, lines: Sequence[Line], row: str, compared: Compared
) -> Iterator[str]:
  """`5.4 for 6.8`, network by network: beside what the row is first held against."""
  column = training_measures.told(kind)[1]
  every = training_differences.networks(lines)
  for network, both in compared.items():
    found = [c for at in both for c in at if c.row == row]
    if not found:
      continue
    rows = every[network]
    standard = rows[found[0].beside]
    measures = training_measures.of(kind, standard)
    mean, beside = (
      np.mean([measures.of(x, ())[column] for x in trainings])
      for trainings in (rows[row], standard)
    )
    yield f"{mean:.1f} for {beside:.1f}"


def _wrapped(sentence: str) -> str:
  return textwrap.fill(sentence, 88, subsequent_indent="  ") + "\n"
