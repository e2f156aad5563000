"""`PaperFigure`: a figure or table of a paper, and what it is drawn from."""

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
# Heads runs of other data than the printed numbers.
_APART = f"{own.NOT_COMPARABLE}: own runs over {{}}"


@dataclasses.dataclass(frozen=True)
class Request:
  """What figures are drawn from besides printed numbers.

  Attributes:
    boards: of the runs, each with its entries.
    scored: the runs' models, whose cells have what no board holds.
    condition: config name of a condition, e.g. `fog_3`, where a figure shows
      one; empty: the figure's own choice.
    reference: whose models a line is fitted to, one of
      `eval/compare/boards/effective.py:REFERENCES`; empty: the figure's own choice.
    clean: folder of training pictures of the user.
    stylized: folder of their stylized versions.
    features: folder that `robust-tfds features` wrote.
    classes: names of those that a figure of features shows; none: the first ten.
    scratch: runs, or labels of models, whose networks began with random weights.
    pretrained: those whose networks were trained on other data first.
    printed: whether printed numbers stand beside the runs: not where the runs
      are of other data.
  """

  boards: Sequence[Board] = ()
  scored: Sequence[Scored] = ()
  condition: str = ""
  reference: str = ""
  clean: epath.Path | None = None
  stylized: epath.Path | None = None
  features: epath.Path | None = None
  classes: Sequence[str] = ()
  scratch: Sequence[str] = ()
  pretrained: Sequence[str] = ()
  printed: bool = True

  def shown(self, printed: Iterable[T]) -> list[T]:
    """What is printed, where it stands beside the runs; else nothing."""
    return list(printed) if self.printed else []


@dataclasses.dataclass(frozen=True)
class Drawn:
  """A figure or table that is not saved yet, and its numbers.

  Attributes:
    figure: of matplotlib; None of tables.
    foot: sentences below it: sources, and what is to be known of runs.
    numbers: for the CSV.
    table: for the Markdown; None of figures.
    text: Markdown beside a figure; empty: none.
    pictures: name of a file -> PNG, of figures that others have drawn.
  """

  figure: style.Figure | None
  foot: Sequence[str]
  numbers: sheet.Sheet
  table: sheet.Sheet | None = None
  text: str = ""
  pictures: Mapping[str, bytes] = dataclasses.field(default_factory=dict)

  def save(self, folder: epath.Path, stem: str, title: str) -> list[epath.Path]:
    """Writes all there is, the CSV last."""
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
  """One figure or table of a paper: a row of the paper's `figures.json`.

  The class says how it is drawn; the attributes which one it is.

  Attributes:
    name: for the command and of the files: `hendrycks_f5` is the figure 5 of the
      paper of the folder `hendrycks`.
    title: what it shows, in words.
    source: what it is drawn from, in words: the home of the printed numbers.
    tasks: whose runs are added, or needed; empty: runs add nothing.
    needs_runs: whether there is nothing to draw without a run.
    needs_folders: which folders of a request there is nothing to draw without.
    drawn_from: what there is without runs, in a word or two.
    note: what the title leaves out, for those who read the row.
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
    """Name within the paper: `f5`, `t4`."""
    return self.name.partition("_")[2]

  @property
  def printed_sets(self) -> Collection[str]:
    """Data sets of the printed numbers that runs stand beside; none by default."""
    return ()

  def parts(self, request: Request) -> list[tuple[PaperFigure, Request]]:
    """The figure, and one without printed numbers for each board of other data.

    Args:
      request: with boards of any data.

    Returns:
      Each with what it is drawn from; the first with the printed numbers.
    """
    out: list[tuple[PaperFigure, Request]] = [(self, request)]
    if not self.printed_sets:
      return out
    beside = self.boards(request)
    for board in request.boards:
      if board.task in self.tasks and board not in beside:
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
    """What it needs, in words."""
    tasks = " or ".join(self.tasks if len(self.tasks) < 3 else ["any task"])
    if self.needs_runs:
      return f"needs a RUN of {tasks}"
    if self.needs_folders:
      return f"needs {_flags(self.needs_folders)}"
    added = f"; RUNs of {tasks} added" if tasks else ""
    return self.drawn_from + added

  def boards(self, request: Request) -> list[Board]:
    """The boards of the figure's tasks.

    Printed numbers and those of runs stand in one table or share an axis only
    where the run's data are those of the paper's protocol.

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
    """The folders that the figure needs.

    Raises:
      UserError: one was not named, or is none.
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
    """The boards that the figure leaves out: of other tasks."""
    return [b for b in request.boards if b.task not in self.tasks]

  @abc.abstractmethod
  def drawn(self, request: Request) -> Drawn:
    """The figure or table of a request.

    Raises:
      UserError: what it is drawn from is not there, in words.
    """

  def draw(self, request: Request, folder: epath.Path) -> list[epath.Path]:
    """Writes the files: PNG and SVG of figures, Markdown of tables, and a CSV.

    Of `parts` this one alone.

    Args:
      request: runs, and what else was asked for.
      folder: where they go; it is there.

    Returns:
      The files.

    Raises:
      UserError: what it is drawn from is not there, in words.
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
  """Of one printed data set, beside which runs over it stand.

  Attributes:
    dataset: its name.
  """

  dataset: str

  @property
  def printed_sets(self) -> Collection[str]:
    """The figure's."""
    return (self.dataset,)


def _flags(names: Sequence[str]) -> str:
  return " and ".join(f"--{name}" for name in names)
