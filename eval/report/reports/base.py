"""`Report` and its kinds: the classes of the files in the folders here."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import ClassVar

from etils import epath

from eval.charts import pictures
from eval.tables.context import Context
from robust_tfds.charts import style


@dataclasses.dataclass(frozen=True)
class PageChart:
  """A chart on the run's page: lines of pictures, or else its figure.

  Attributes:
    stem: name of the chart's files.
    title: above it.
    reading: how to read it.
    alt: what the figure shows; empty if there are lines.
    lines: lines of pictures.
    folded: more pictures, which the page folds away.
  """

  stem: str
  title: str
  reading: str
  alt: str = ""
  lines: Sequence[pictures.Line] = ()
  folded: Sequence[pictures.Line] = ()


class Report(abc.ABC):
  """Some files about one run."""

  def page_chart(self, context: Context) -> PageChart | None:
    """Return the report's part of the run's page; None by default."""
    return None

  @abc.abstractmethod
  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Write the report's files.

    Returns:
      The files; none if the context lacks what the report is about.
    """


class TextReport(Report):
  """A report that is one file of text.

  Class attributes:
    file: its name.
  """

  file: ClassVar[str]

  @abc.abstractmethod
  def text(self, context: Context) -> str:
    """Return the text; empty if the context has no data for it."""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Write the file, unless it would be empty."""
    text = self.text(context)
    if not text:
      return []
    path = folder / self.file
    path.write_text(text, "utf-8")
    return [path]


class Chart(Report):
  """A report that is a figure, possibly with a text beside it.

  Attributes:
    stem: name of its files.
    caption: its title on the run's page.
    reading: how to read it, in a sentence or two; of pictures `{model}` is the
      first model.
    shows: a description for people who do not see it; the models follow.
  """

  stem: str
  caption: str
  reading: str
  shows: str = ""

  def page_chart(self, context: Context) -> PageChart | None:
    """Return the figure with its words."""
    alt = f"{self.shows}: {', '.join(context.models)}."
    return PageChart(self.stem, self.caption, self.reading, alt)

  @abc.abstractmethod
  def draw(self, context: Context) -> style.Figure | None:
    """Draw the figure; None if the context has no data for it."""

  def text(self, context: Context) -> str:
    """Return Markdown to stand beside the figure; empty by default."""
    return ""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Write <stem>.png and .svg, and .md if there is a text."""
    figure = self.draw(context)
    if figure is None:
      return []
    files = style.save(figure, folder, self.stem, context.provenance)
    text = self.text(context)
    if text:
      files.append(folder / f"{self.stem}.md")
      files[-1].write_text(text, "utf-8")
    return files


class Pictures(Chart):
  """A chart of lines of pictures, which the run's page shows as they are.

  Attributes:
    side: side of a picture in the figure, in inches.
    name_width: width of the lines' names, in inches.
    unfolded: how many lines the page shows at once.
  """

  side: float
  name_width = 1.2
  unfolded = 4

  @abc.abstractmethod
  def lines(self, context: Context) -> Sequence[pictures.Line]:
    """Return the lines; [] if the context has no data for them."""

  def draw(self, context: Context) -> style.Figure | None:
    """Draw the lines."""
    lines = self.lines(context)
    if not lines:
      return None
    return pictures.draw(lines, self.side, name_width=self.name_width)

  def page_chart(self, context: Context) -> PageChart | None:
    """Return the pictures unchanged."""
    lines, folded = map(tuple, self.folded(context))
    reading = self.reading.format(model=", ".join(context.models[:1]))
    words = self.stem, self.caption, reading
    return PageChart(*words, lines=lines, folded=folded) if lines else None

  def folded(
    self, context: Context
  ) -> tuple[Sequence[pictures.Line], Sequence[pictures.Line]]:
    """Return the lines that the page shows at once, and those it folds away."""
    lines = self.lines(context)
    return lines[: self.unfolded], lines[self.unfolded :]
