"""Reliability diagrams: clean, and per level over all corruptions together.

A bar is the accuracy in a bin of the top score, the thin line its gap to the mean
score of the bin, the diagonal a calibrated model. Below: how many examples are in
the bin. Diagrams of one level are pooled: every example of every corruption counts
once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from robust_tfds.conditions import Condition
from robust_tfds.conditions import Family
from robust_tfds.eval.metrics.calibration import Bins
from robust_tfds.eval.site import svg
from robust_tfds.eval.site.markup import Html
from robust_tfds.eval.site.markup import join
from robust_tfds.eval.site.markup import tag

# In px; the style sheet's class `q` is the picture's size.
_LEFT, _SIDE, _TOP = 32.0, 136.0, 8.0
_FLOOR = _TOP + _SIDE
_COUNTS, _HIGHEST = _FLOOR + 46, 28.0  # the counts' floor and height


@dataclasses.dataclass(frozen=True)
class Pool:
  """Bins of several diagrams together, without the empty ones.

  Attributes:
    bins: (place, count, confidence, accuracy) of each, by place.
    size: of how many bins they are.
  """

  bins: Sequence[tuple[int, int, float, float]]
  size: int

  @classmethod
  def of(cls, diagrams: Iterable[Bins]) -> Pool:
    """The pool of some diagrams, whose bins are equally many."""
    sums: dict[int, tuple[int, float, float]] = {}
    size = 0
    for diagram in diagrams:
      size = len(diagram.count)
      for place, (n, conf, acc) in enumerate(
        zip(diagram.count, diagram.confidence, diagram.accuracy)
      ):
        if n and conf is not None and acc is not None:
          a, b, c = sums.get(place, (0, 0.0, 0.0))
          sums[place] = a + n, b + n * conf, c + n * acc
    return cls(
      [(i, n, b / n, c / n) for i, (n, b, c) in sorted(sums.items())], size
    )

  @property
  def total(self) -> int:
    """Examples."""
    return sum(n for _, n, _, _ in self.bins)

  @property
  def error(self) -> float:
    """The expected calibration error of the pool, a fraction."""
    gaps = (n * abs(acc - conf) for _, n, conf, acc in self.bins)
    return sum(gaps) / self.total


def diagrams(reliability: Mapping[Condition, Bins], family: Family) -> Html:
  """A diagram of clean data and of every level; empty where there are none."""
  pools = {
    name: pool for name, pool in _pools(reliability, family) if pool.total
  }
  if not pools:
    return Html()
  figures = [_figure(name, pool) for name, pool in pools.items()]
  return join([_shared("square"), tag("div", *figures, class_="curves")])


def _pools(
  reliability: Mapping[Condition, Bins], family: Family
) -> Iterable[tuple[str, Pool]]:
  by_level: dict[int, list[Bins]] = {}
  for condition, diagram in reliability.items():
    if condition.clean or family.row(condition.name).set == "common":
      by_level.setdefault(condition.level, []).append(diagram)
  for level in sorted(by_level):
    name = f"{family.level_noun.capitalize()} {level}" if level else "Clean"
    yield name, Pool.of(by_level[level])


def _figure(name: str, pool: Pool) -> Html:
  error = f"ECE {100 * pool.error:.1f} %"
  return tag(
    "figure",
    tag("figcaption", name, tag("small", f"{error}, n = {pool.total:,}")),
    svg.picture(
      "q",
      f"{name}: accuracy by confidence, {error}",
      svg.use("square"),
      *_bars(pool),
    ),
  )


def _bars(pool: Pool) -> list[Html]:
  """Accuracy, gap and count of every bin."""
  most = max(n for _, n, _, _ in pool.bins)
  accuracy, gap, count = [], [], []
  for place, n, conf, acc in pool.bins:
    x = _LEFT + (place + 0.5) * _SIDE / pool.size
    accuracy.append(((x, _FLOOR), acc * _SIDE))
    gap.append(((x, _FLOOR - acc * _SIDE), (conf - acc) * _SIDE))
    count.append(((x, _COUNTS), n / most * _HIGHEST))
  width = _SIDE / pool.size - 1
  return [
    svg.path("r", svg.upright(accuracy), width),
    svg.path("o", svg.upright(gap)),
    svg.path("n", svg.upright(count), width),
  ]


def _shared(name: str) -> Html:
  """The frame, the diagonal and the labels, drawn once."""
  left, right = _LEFT, _LEFT + _SIDE
  frame = [(left, _TOP), (right, _TOP), (right, _FLOOR), (left, _FLOOR)]
  return svg.shared(
    name,
    svg.path("g", svg.line([*frame, frame[0]])),
    svg.path("m", svg.line([(left, _FLOOR), (right, _TOP)])),
    svg.word("100", left - 5, _TOP + 4, "e"),
    svg.word("0", left - 5, _FLOOR + 4, "e"),
    svg.word("0", left, _FLOOR + 14, "c"),
    svg.word("confidence, %", left + _SIDE / 2, _FLOOR + 14, "c"),
    svg.word("100", right, _FLOOR + 14, "c"),
  )
