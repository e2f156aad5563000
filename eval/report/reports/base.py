"""`Report`, `TextReport`, `Chart`: what a file of the folders beside this one holds."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from etils import epath

from robust_tfds.eval.report.charts import style
from robust_tfds.eval.report.context import Context
from robust_tfds.eval.report.tables import pivot


class Report(abc.ABC):
  """Some files about one run.

  Class attributes:
    pictures: (file, title) pairs of those files that the run's page
      shows, where they were written.
  """

  pictures: ClassVar[tuple[tuple[str, str], ...]] = ()

  @abc.abstractmethod
  def write(self, context: Context, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes the report's files into `folder`.

    Returns:
      The files; none where the context lacks what the report is about.
    """

  def tables(self, context: Context) -> Sequence[pivot.Table]:
    """Tables that the page shows below the pictures; none by default."""
    return ()


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
    caption: over the picture on the page.
  """

  stem: str
  caption: str

  @property
  def pictures(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
    """The picture with its caption."""
    return ((f"{self.stem}.png", self.caption),)

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
