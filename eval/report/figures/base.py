"""`PaperFigure`: a figure or table of a paper; `Request`: its data."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from etils import epath

from eval.report.figures.parts import own, sheet
from robust_tfds import errors
from robust_tfds.charts import style
from robust_tfds.storage import disk

if TYPE_CHECKING:
  from eval.compare.boards.board import Board
  from eval.compare.scores import Scored

T = TypeVar("T")
# Title of a figure of runs whose data are not those of the printed numbers.
_APART = f"{own.NOT_COMPARABLE}: own runs over {{}}"


@dataclasses.dataclass(frozen=True)
class Request:
  """The data of figures besides printed numbers.

  Attributes:
    boards: boards of the runs, with their entries.
    scored: the runs' models with their cells.
    condition: config name of the condition to show, e.g. `fog_3`; empty: the
      figure chooses.
    reference: the models that a line is fitted to, one of
      `eval/compare/boards/effective.py:REFERENCES`; empty: the figure chooses.
    clean: the user's folder of training pictures.
    stylized: folder of their stylized versions.
    features: folder written by `robust-tfds features`.
    classes: classes that a figure of features shows; empty: the first ten.
    printed: whether printed numbers are shown with the runs: only if their data
      agree.
  """

  boards: Sequence[Board] = ()
  scored: Sequence[Scored] = ()
  condition: str = ""
  reference: str = ""
  clean: epath.Path | None = None
  stylized: epath.Path | None = None
  features: epath.Path | None = None
  classes: Sequence[str] = ()
  printed: bool = True

  def if_printed(self, printed: Iterable[T]) -> list[T]:
    """Return `printed` as a list if it is shown with the runs, else []."""
    return list(printed) if self.printed else []


@dataclasses.dataclass(frozen=True)
class Drawn:
  """A figure or table that is not saved yet, and its numbers.

  Attributes:
    figure: matplotlib's; None for tables.
    foot: sentences below it on sources and runs.
    numbers: for the CSV.
    table: for the Markdown; None for figures.
    text: Markdown beside a figure; may be empty.
    pictures: file name -> PNG, copied from reports.
  """

  figure: style.Figure | None
  foot: Sequence[str]
  numbers: sheet.Sheet
  table: sheet.Sheet | None = None
  text: str = ""
  pictures: Mapping[str, bytes] = dataclasses.field(default_factory=dict)

  def save(self, folder: epath.Path, stem: str, title: str) -> list[epath.Path]:
    """Write all parts, the CSV last."""
    files = [folder / name for name in self.pictures]
    for file, data in zip(files, self.pictures.values()):
      disk.write_bytes(file, data)
    if self.figure:
      files += style.save(self.figure, folder, stem, self.foot)
    if self.text:
      files.append(folder / f"{stem}.md")
      disk.write_text(files[-1], self.text)
    if self.table:
      files.append(self.table.write_markdown(folder, stem, title))
    return [*files, self.numbers.write_csv(folder, stem)]


@dataclasses.dataclass(frozen=True)
class PaperFigure(abc.ABC):
  """A figure or table of a paper: a row of the paper's `figures.json`.

  Attributes:
    name: for the command and the files: `hendrycks_f5` is figure 5 of the paper
      in the folder `hendrycks`.
    title: what it shows.
    source: the source of its numbers, in words.
    tasks: tasks of the runs that it shows; empty: it shows no runs.
    needs_runs: whether it cannot be drawn without a run.
    needs_folders: folders of a request that it cannot be drawn without.
    drawn_from: its data without runs, in a word or two.
    note: a remark for readers of the row.
  """

  __pydantic_config__ = {"extra": "forbid"}

  name: str
  title: str
  source: str = ""
  tasks: tuple[str, ...] = ()
  needs_runs: bool = False
  needs_folders: tuple[str, ...] = ()
  drawn_from: str = "printed"
  note: str = ""

  @property
  def stem(self) -> str:
    """The name within the paper: `f5`, `t4`."""
    return self.name.partition("_")[2]

  @property
  def printed_sets(self) -> Collection[str]:
    """Data sets whose printed numbers are shown with runs; none by default."""
    return ()

  def parts(self, request: Request) -> list[tuple[PaperFigure, Request]]:
    """Return the figure, and one for each board of other data, with requests.

    Only the first shows printed numbers.

    Args:
      request: with boards of any data.
    """
    out: list[tuple[PaperFigure, Request]] = [(self, request)]
    if not self.printed_sets:
      return out
    boards = self.boards(request)
    for board in request.boards:
      if board.task in self.tasks and board not in boards:
        figure = dataclasses.replace(
          self,
          name=f"{self.name}_{board.key}",
          title=f"{_APART.format(board.title)}. {self.title}",
        )
        alone = dataclasses.replace(request, boards=[board], printed=False)
        out.append((figure, alone))
    return out

  @property
  def status(self) -> str:
    """The data that the figure needs, in words."""
    tasks = " or ".join(self.tasks if len(self.tasks) < 3 else ["any task"])
    if self.needs_runs:
      return f"needs a RUN of {tasks}"
    if self.needs_folders:
      return f"needs {_flags(self.needs_folders)}"
    added = f"; RUNs of {tasks} added" if tasks else ""
    return self.drawn_from + added

  def boards(self, request: Request) -> list[Board]:
    """Return the boards of the figure's tasks.

    If printed numbers are shown, only boards whose data follow the paper's protocol.

    Raises:
      UserError: there is none, and the figure needs one.
    """
    boards = [b for b in request.boards if b.task in self.tasks]
    if self.printed_sets and request.printed:
      boards = [b for b in boards if own.is_beside(b, self.printed_sets)]
    if self.needs_runs and not boards:
      raise errors.UserError(
        f"{self.name} ({self.title}) is drawn from runs of the task"
        f" {' or '.join(self.tasks)}, and none was given: {self.source}. Name"
        f" one: robust-tfds figures {self.name} --out=DIR RUN"
      )
    return boards

  def folders(self, request: Request) -> list[epath.Path]:
    """Return the folders that the figure needs.

    Raises:
      UserError: one is not named or does not exist.
    """
    named = {name: getattr(request, name) for name in self.needs_folders}
    missing = [name for name, folder in named.items() if folder is None]
    if missing:
      raise errors.UserError(
        f"{self.name} ({self.title}) is drawn from your own folders; missing:"
        f" {_flags(missing)}. Name them: robust-tfds figures {self.name}"
        f" --out=DIR {' '.join(f'--{n}=FOLDER' for n in self.needs_folders)}"
      )
    for name, folder in named.items():
      if not folder.is_dir():
        raise errors.UserError(f"--{name}={folder}: no such folder.")
    return list(named.values())

  def unused(self, request: Request) -> list[Board]:
    """Return the boards that the figure does not show: those of other tasks."""
    return [b for b in request.boards if b.task not in self.tasks]

  @abc.abstractmethod
  def drawn(self, request: Request) -> Drawn:
    """Draw the figure or table.

    Raises:
      UserError: its data are missing.
    """

  def draw(self, request: Request, folder: epath.Path) -> list[epath.Path]:
    """Write PNG and SVG of a figure or Markdown of a table, and a CSV.

    Args:
      request: the figure's data, see `parts`.
      folder: an existing folder.

    Returns:
      The files.

    Raises:
      UserError: the figure's data are missing.
    """
    drawn = self.drawn(request)
    if not drawn.numbers.lines:
      raise errors.UserError(
        f"{self.name} ({self.title}): the runs have none of its numbers."
      )
    if drawn.figure and not request.printed:
      style.head(drawn.figure, self.title)
    first = sorted(drawn.foot, key=lambda x: own.NOT_COMPARABLE not in x)
    drawn = dataclasses.replace(drawn, foot=first)
    return drawn.save(folder, self.name, self.title)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OneSet(PaperFigure):
  """A figure of one printed data set, and of runs over it.

  Attributes:
    dataset: its name.
  """

  dataset: str

  @property
  def printed_sets(self) -> Collection[str]:
    """The figure's data set."""
    return (self.dataset,)


def _flags(names: Sequence[str]) -> str:
  return " and ".join(f"--{name}" for name in names)
