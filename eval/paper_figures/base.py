"""`PaperFigure`: what a file of the papers' folders holds."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import ClassVar

from etils import epath

from robust_tfds import errors

if TYPE_CHECKING:
  from robust_tfds.eval.board.board import Board
  from robust_tfds.eval.board.scores import Scored

REFERENCES = ("testbed", "printed", "runs")  # as eval/board/effective.py


@dataclasses.dataclass(frozen=True)
class Request:
  """What figures are drawn from besides printed numbers.

  Attributes:
    boards: of the runs, each with its entries.
    scored: the runs' models, whose cells have what no board holds.
    condition: config name of a condition, e.g. `fog_3`, where a figure shows
      one; empty: the figure's own choice.
    reference: whose models a line is fitted to: `testbed`, `printed`, `runs`;
      empty: the figure's own choice.
  """

  boards: Sequence[Board] = ()
  scored: Sequence[Scored] = ()
  condition: str = ""
  reference: str = ""


class PaperFigure(abc.ABC):
  """One figure or table of a paper.

  The paper is the folder's name, the figure's own name that of the file behind
  it: `hendrycks/f5.py` is `hendrycks_f5`.

  Class attributes:
    title: what it shows, in words.
    source: what it is drawn from, in words: the home of the printed numbers.
    tasks: whose runs are added, or needed; empty: runs add nothing.
    needs_runs: whether there is nothing to draw without a run.
    drawn_from: what there is without one, in a word or two.
  """

  title: ClassVar[str]
  source: ClassVar[str]
  tasks: ClassVar[tuple[str, ...]] = ()
  needs_runs: ClassVar[bool] = False
  drawn_from: ClassVar[str] = "printed"

  @property
  def paper(self) -> str:
    """Name of the paper's folder."""
    return type(self).__module__.split(".")[-2]

  @property
  def stem(self) -> str:
    """Name within the paper: `f5`, `t4`."""
    return type(self).__module__.split(".")[-1]

  @property
  def name(self) -> str:
    """Name for the command and of the files."""
    return f"{self.paper}_{self.stem}"

  @property
  def status(self) -> str:
    """What it needs, in words."""
    tasks = " or ".join(self.tasks if len(self.tasks) < 3 else ["any task"])
    if self.needs_runs:
      return f"needs a RUN of {tasks}"
    added = f"; RUNs of {tasks} added" if tasks else ""
    return self.drawn_from + added

  def boards(self, request: Request) -> list[Board]:
    """The boards of the figure's tasks.

    Raises:
      UserError: there is none, and the figure needs one.
    """
    boards = [b for b in request.boards if b.task in self.tasks]
    if self.needs_runs and not boards:
      raise errors.UserError(
        f"{self.name} ({self.title}) is drawn from runs of the task"
        f" {' or '.join(self.tasks)}, and none was given: {self.source}. Name"
        f" one: python -m eval.figures {self.name} --out=DIR RUN"
      )
    return boards

  def unused(self, request: Request) -> list[Board]:
    """The boards that the figure leaves out: of other tasks."""
    return [b for b in request.boards if b.task not in self.tasks]

  @abc.abstractmethod
  def draw(self, request: Request, folder: epath.Path) -> Sequence[epath.Path]:
    """Writes the files: PNG and SVG of figures, Markdown of tables, and a CSV.

    Args:
      request: runs, and what else was asked for.
      folder: where they go; it is there.

    Returns:
      The files.

    Raises:
      UserError: what it is drawn from is not there, in words.
    """
