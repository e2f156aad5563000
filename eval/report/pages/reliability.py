"""Reliability diagrams: clean, and per level over all corruptions together.

A bar is the accuracy in a bin of the top score, the thin line its gap to the mean
score of the bin, the diagonal a calibrated model. Below: how many examples are in
the bin. Diagrams of one level are pooled: every example of every corruption counts
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robust_tfds.conditions import Condition, Family
from robust_tfds.eval.metrics import calibration
from robust_tfds.eval.metrics.calibration import Bins
from robust_tfds.eval.site import svg
from robust_tfds.eval.site.markup import Html, join, tag

# In px; the style sheet's class `q` is the picture's size.
_LEFT, _SIDE, _TOP = 32.0, 136.0, 8.0
_FLOOR = _TOP + _SIDE
_COUNTS, _HIGHEST = _FLOOR + 46, 28.0  # the counts' floor and height


def diagrams(reliability: Mapping[Condition, Bins], family: Family) -> Html:
  """A diagram of clean data and of every level; empty where there are none."""
  figures = [
    _figure(name, pool)
    for name, pool in _pools(reliability, family)
    if any(pool.count)
  ]
  if not figures:
    return Html()
  return join([_shared("square"), tag("div", *figures, class_="curves")])


def _pools(
  reliability: Mapping[Condition, Bins], family: Family
) -> Iterator[tuple[str, Bins]]:
  by_level: dict[int, list[Bins]] = {}
  for condition, diagram in reliability.items():
    if condition.clean or family.row(condition.name).set == "common":
      by_level.setdefault(condition.level, []).append(diagram)
  for level in sorted(by_level):
    name = f"{family.level_noun.capitalize()} {level}" if level else "Clean"
    yield name, calibration.pooled(by_level[level])


def _figure(name: str, pool: Bins) -> Html:
  error = f"ECE {100 * pool.ece:.1f} %"
  return tag(
    "figure",
    tag("figcaption", name, tag("small", f"{error}, n = {sum(pool.count):,}")),
    svg.picture(
      "q",
      f"{name}: accuracy by confidence, {error}",
      svg.use("square"),
      *_bars(pool),
    ),
  )


def _bars(pool: Bins) -> list[Html]:
  """Accuracy, gap and count of every bin that is not empty."""
  most, step = max(pool.count), _SIDE / len(pool.count)
  accuracy, gap, count = [], [], []
  bins = zip(pool.count, pool.confidence, pool.accuracy)
  for place, (n, conf, acc) in enumerate(bins):
    if conf is None or acc is None:
      continue
    x = _LEFT + (place + 0.5) * step
    accuracy.append(((x, _FLOOR), acc * _SIDE))
    gap.append(((x, _FLOOR - acc * _SIDE), (conf - acc) * _SIDE))
    count.append(((x, _COUNTS), n / most * _HIGHEST))
  return [
    svg.path("r", svg.upright(accuracy), step - 1),
    svg.path("o", svg.upright(gap)),
    svg.path("n", svg.upright(count), step - 1),
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
