"""`Report` and its kinds: what a file of the folders beside this one holds."""

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
class OnPage:
  """What the run's page shows of a chart: lines of pictures, or its figure.

  Attributes:
    stem: of the chart's files.
    title: over it.
    reading: how to read it.
    alt: what the figure shows; empty where there are lines.
    lines: of pictures.
    folded: more of them, which the page folds away.
  """

  stem: str
  title: str
  reading: str
  alt: str = ""
  lines: Sequence[pictures.Line] = ()
  folded: Sequence[pictures.Line] = ()


class Report(abc.ABC):
  """Some files about one run."""

  def on_page(self, context: Context) -> OnPage | None:
    """What the run's page shows of it; nothing by default."""
    return None

  @abc.abstractmethod
  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes the report's files into `folder`.

    Returns:
      The files; none where the context lacks what the report is about.
    """


class TextReport(Report):
  """A report that is one file of text.

  Class attributes:
    file: its name.
  """

  file: ClassVar[str]

  @abc.abstractmethod
  def text(self, context: Context) -> str:
    """What the file says; empty where the context lacks what it is about."""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes the file; nothing where it would be empty."""
    text = self.text(context)
    if not text:
      return []
    path = folder / self.file
    path.write_text(text, "utf-8")
    return [path]


class Chart(Report):
  """A report that is a figure, and perhaps a text beside it.

  Attributes:
    stem: of its files.
    caption: over it on the run's page; empty where the page shows the same in its
      own way.
    reading: how to read it, a sentence or two below the caption; of pictures
      `{model}` is the first model.
    shows: what is drawn, for those who do not see it; models follow.
  """

  stem: str
  caption: str = ""
  reading: str = ""
  shows: str = ""

  def on_page(self, context: Context) -> OnPage | None:
    """The figure, unless the page shows the same in its own way."""
    if not self.caption:
      return None
    alt = f"{self.shows}: {', '.join(context.models)}."
    return OnPage(self.stem, self.caption, self.reading, alt)

  @abc.abstractmethod
  def draw(self, context: Context) -> style.Figure | None:
    """The figure; None where the context lacks what it shows."""

  def text(self, context: Context) -> str:
    """Markdown beside the figure; none by default."""
    return ""

  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes <stem>.png and .svg, and .md where there is a text."""
    return self.save(context, folder, self.stem)

  def save(
    self, context: Context, folder: epath.Path, stem: str
  ) -> list[epath.Path]:
    """Writes the same under another name.

    Returns:
      The files; none where the context lacks what it shows.
    """
    figure = self.draw(context)
    if figure is None:
      return []
    files = style.save(figure, folder, stem, context.provenance)
    text = self.text(context)
    if text:
      files.append(folder / f"{stem}.md")
      files[-1].write_text(text, "utf-8")
    return files


class Pictures(Chart):
  """A chart of lines of pictures, which the run's page shows as they are.

  Attributes:
    side: of a picture in the figure, in inches.
    name_width: of the lines' names, in inches.
    unfolded: how many lines the page shows at once.
  """

  side: float
  name_width = 1.2
  unfolded = 4

  @abc.abstractmethod
  def lines(self, context: Context) -> Sequence[pictures.Line]:
    """From top to bottom; none where the context lacks what they show."""

  def draw(self, context: Context) -> style.Figure | None:
    """None without lines."""
    lines = self.lines(context)
    if not lines:
      return None
    return pictures.draw(lines, self.side, name_width=self.name_width)

  def on_page(self, context: Context) -> OnPage | None:
    """The pictures as they are."""
    lines, folded = map(tuple, self.folded(context))
    reading = self.reading.format(model=", ".join(context.models[:1]))
    of = self.stem, self.caption, reading
    return OnPage(*of, lines=lines, folded=folded) if lines else None

  def folded(
    self, context: Context
  ) -> tuple[Sequence[pictures.Line], Sequence[pictures.Line]]:
    """What the page shows at once, and what it folds away."""
    lines = self.lines(context)
    return lines[: self.unfolded], lines[self.unfolded :]
