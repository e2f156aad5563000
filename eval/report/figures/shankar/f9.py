"""Figure 9: how pm-k is scored, in our own drawing."""

from __future__ import annotations

from eval.report.figures import base
from eval.report.figures.parts import sheet
from robust_tfds.charts import style

# Offset -> whether a made-up model is right. Other offsets were not accepted as
# similar by the review.
_RIGHT = {
  **{-9: True, -8: True, -6: True, -5: False, -4: True, -2: True, -1: True},
  **{0: True, 1: True, 3: True, 4: True, 5: True, 8: True, 10: True},
}
_KINDS = (
  ("right", "#009E73", "o", "similar frame, model right"),
  ("wrong", "#D55E00", "X", "similar frame, model wrong"),
  ("left out", "#bbbbbb", "s", "not similar, left out by the review"),
)


class Figure9(base.PaperFigure):
  """Frames around an anchor, and the windows of pm-0, pm-4 and pm-10."""

  def drawn(self, request: base.Request) -> base.Drawn:
    fig = style.figure(8, 2.9)
    ax = style.axes(fig, 1, 1)[0, 0]
    style.bare(ax)
    for side in ax.spines.values():
      side.set_visible(False)
    for kind, colour, marker, label in _KINDS:
      x = [o for o in range(-10, 11) if _kind(o) == kind]
      ax.scatter(
        x, [0] * len(x), s=130, color=colour, marker=marker, label=label
      )
    for offset in range(-10, 11):
      text = f"{offset:+d}" if offset else "0\nanchor"
      ax.text(offset, -0.35, text, ha="center", va="top", fontsize=8)
    for level, k in enumerate((0, 4, 10)):
      _window(ax, k, 0.55 + 0.5 * level)
    ax.set_ylim(-1, 2)
    ax.set_xlim(-11, 17)
    fig.legend(loc="outside upper center", ncols=3, fontsize=8)
    lines: list[list[sheet.Cell]] = [
      [o, _kind(o), self.source] for o in range(-10, 11)
    ]
    table = sheet.Sheet(("offset", "frame", "source"), lines)
    return base.Drawn(fig, [self.source], table)


def _kind(offset: int) -> str:
  if offset not in _RIGHT:
    return "left out"
  return "right" if _RIGHT[offset] else "wrong"


def _window(ax: style.Axes, k: int, y: float) -> None:
  """Draw the frames that count within k, and the verdict."""
  wrong = [o for o, right in _RIGHT.items() if abs(o) <= k and not right]
  ends = (-k - 0.4, k + 0.4)
  ax.plot(ends, [y, y], color="#0072B2", linewidth=2)
  for x in ends:
    ax.plot([x, x], [y - 0.12, y + 0.12], color="#0072B2", linewidth=2)
  verdict = f"wrong, as frame {wrong[0]} is" if wrong else "right"
  ax.text(10.8, y, f"pm-{k}: {verdict}", va="center", fontsize=9)
