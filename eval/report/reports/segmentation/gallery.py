"""Pictures with their masks, the first model's answers and where it is wrong."""

from __future__ import annotations

import colorsys
import functools
from collections.abc import Iterable, Sequence

import numpy as np

from eval.charts import pictures
from eval.metrics import definitions
from eval.metrics.segmentation import IGNORE
from eval.report.reports import base
from eval.tables.context import Context
from robust_tfds.charts import style

_GREY = (128, 128, 128)  # pixels that do not count
_WRONG = (214, 0, 110)
_DIM = 3  # divides the levels of right pixels
_GOLDEN = 0.61803398875  # turns of hue: neighbours in the list look unlike
_SWATCH_PX = 24
_MOST = 24  # classes whose colours are shown
_UNFOLDED = ("clean", "gaussian_noise_3", "snow_3", "fog_3")


class Gallery(base.Pictures):
  """A line per condition: picture, mask, answer, errors."""

  stem = "segmentation_gallery"
  caption = "Masks, answers and errors"
  reading = (
    "Each picture clean and at severity 3: what the model saw, the mask (of the"
    " clean picture), the answer of {model}, and in pink where that is wrong. Grey"
    " pixels do not count. Below the errors: how many of the pixels are right."
  )
  side = 1.7

  def lines(self, context: Context) -> Sequence[pictures.Line]:
    return [line for part in _parts(context) for line in part]

  def draw(self, context: Context) -> style.Figure | None:
    fig = super().draw(context)
    if fig:
      _add_legend(fig, _legend(context))
    return fig

  def folded(
    self, context: Context
  ) -> tuple[Sequence[pictures.Line], Sequence[pictures.Line]]:
    first, rest = _parts(context)
    legend = [_legend(context)] if first or rest else []
    return [*first, *legend], rest


def _parts(
  context: Context,
) -> tuple[list[pictures.Line], list[pictures.Line]]:
  """Return the lines that the page shows at once, and the others."""
  lines = [
    (title, number, _line(title, image, mask, answer, context.models[0]))
    for title, listed in context.maps.items()
    for number, (image, mask, answer) in enumerate(listed)
  ]
  titles = {title for title, *_ in lines}
  known = titles & {*_UNFOLDED}
  shown = known if len(known) > 1 else {*list(context.maps)[:4]}
  first = [line for title, n, line in lines if title in shown and not n]
  rest = [line for title, n, line in lines if title not in shown or n]
  return first, rest


@functools.cache
def colours(count: int) -> np.ndarray:
  """Return a colour for each class id, uint8 `[256, 3]`; grey for ids without a class."""
  out = np.full((256, 3), _GREY, np.uint8)
  for i in range(count):
    light = (0.9, 0.65, 1.0)[i % 3]
    rgb = colorsys.hsv_to_rgb(i * _GOLDEN % 1, 0.55 + 0.35 * (i % 2), light)
    out[i] = np.round(255 * np.array(rgb))
  return out


def errors(
  image: np.ndarray, mask: np.ndarray, answer: np.ndarray
) -> np.ndarray:
  """Return where an answer is wrong, uint8 `[H, W, 3]`: dimmed, pink, grey."""
  out = image // _DIM
  counted = mask != IGNORE
  out[counted & (answer != mask)] = _WRONG
  out[~counted] = _GREY
  return out


def _line(
  title: str,
  image: np.ndarray,
  mask: np.ndarray,
  answer: np.ndarray,
  model: str,
) -> pictures.Line:
  palette = colours(IGNORE)
  counted = mask != IGNORE
  right = (answer == mask)[counted]
  share = f"{right.mean():.0%} right" if right.size else "no pixel counts"
  shown = (
    pictures.Picture(image, "picture"),
    pictures.Picture(palette[mask], "mask"),
    pictures.Picture(palette[answer], model),
    pictures.Picture(errors(image, mask, answer), "errors", share),
  )
  return pictures.Line(shown, definitions.words(title))


def _legend(context: Context) -> pictures.Line:
  """Return the colours of the classes that the pictures show."""
  palette = colours(IGNORE)
  swatches = [
    pictures.Picture(
      np.tile(palette[i], (_SWATCH_PX, _SWATCH_PX, 1)), context.class_name(i)
    )
    for i in _class_ids(context.maps.values())[:_MOST]
  ]
  return pictures.Line(swatches, "classes")


def _add_legend(fig: style.Figure, classes: pictures.Line) -> None:
  from matplotlib.patches import Patch

  fig.legend(
    handles=[
      Patch(color=p.pixels[0, 0] / 255, label=p.title)
      for p in classes.pictures
      if p.pixels is not None
    ],
    loc="outside upper center",
    ncols=6,
    fontsize=7,
  )


def _class_ids(
  conditions: Iterable[Sequence[tuple[np.ndarray, ...]]],
) -> list[int]:
  """Return the ids of the classes in masks and answers, sorted."""
  ids = {
    i
    for condition_tiles in conditions
    for _, *maps in condition_tiles
    for class_map in maps
    for i in np.unique(class_map).tolist()
  }
  return sorted(ids - {IGNORE})
