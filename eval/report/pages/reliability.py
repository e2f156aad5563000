"""Reliability diagrams: clean, and per level over all corruptions together.

A bar is the accuracy in a bin of the top score, the thin line its gap to the mean
score of the bin, the diagonal a calibrated model. Below: how many examples are in
the bin. Diagrams of one level are pooled: every example of every corruption counts
once.
"""

from collections.abc import Iterator, Mapping

from eval.metrics import calibration
from eval.metrics.calibration import Bins
from robust_tfds.conditions import Condition, Family
from robust_tfds.html_pages import paths

# In px; the style sheet's class `q` is the picture's size.
_LEFT, _SIDE, _TOP = 32.0, 136.0, 8.0
_FLOOR = _TOP + _SIDE
_COUNTS, _HIGHEST = _FLOOR + 46, 28.0  # the counts' floor and height
_RIGHT = _LEFT + _SIDE
# The frame, the diagonal and the labels, drawn once.
SQUARE = paths.Drawing(
  "square",
  [
    (
      "g",
      paths.line(
        [
          (_LEFT, _TOP),
          (_RIGHT, _TOP),
          (_RIGHT, _FLOOR),
          (_LEFT, _FLOOR),
          (_LEFT, _TOP),
        ]
      ),
    ),
    ("m", paths.line([(_LEFT, _FLOOR), (_RIGHT, _TOP)])),
  ],
  [
    paths.word("100", _LEFT - 5, _TOP + 4, "e"),
    paths.word("0", _LEFT - 5, _FLOOR + 4, "e"),
    paths.word("0", _LEFT, _FLOOR + 14, "c"),
    paths.word("confidence, %", _LEFT + _SIDE / 2, _FLOOR + 14, "c"),
    paths.word("100", _RIGHT, _FLOOR + 14, "c"),
  ],
)


def diagrams(
  reliability: Mapping[Condition, Bins], family: Family
) -> list[paths.Picture]:
  """A diagram of clean data and of every level; empty where there are none."""
  return [
    _picture(name, pool)
    for name, pool in _pools(reliability, family)
    if any(pool.count)
  ]


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


def _picture(name: str, pool: Bins) -> paths.Picture:
  error = f"ECE {100 * pool.ece:.1f} %"
  return paths.Picture(
    name,
    f"{name}: accuracy by confidence, {error}",
    "q",
    SQUARE.name,
    _bars(pool),
    small=f"{error}, n = {sum(pool.count):,}",
  )


def _bars(pool: Bins) -> list[tuple[str, str, int]]:
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
  wide = paths.width(step - 1)
  return [
    ("r", paths.upright(accuracy), wide),
    ("o", paths.upright(gap), 0),
    ("n", paths.upright(count), wide),
  ]
