"""Draws figures one after the other, and says what was left out."""

import dataclasses
from collections.abc import Callable, Sequence

from etils import epath

from eval.report.figures import base
from robust_tfds import errors
from robust_tfds.storage import disk


def with_runs(
  asked: base.Request, runs: Sequence[str], say: Callable[[str], None] = print
) -> base.Request:
  """What the command asks for, and the numbers of runs.

  Args:
    asked: all but the runs.
    say: takes a line of each run and model that is set aside.

  Raises:
    UserError: a path that is no folder, or nothing is left.
  """
  if not runs:
    return asked
  from eval.compare import runs as runs_lib
  from eval.compare import scores
  from eval.compare.boards import build, exclusions

  excluded: list[exclusions.Exclusion] = []
  scored = scores.score_runs(runs_lib.read(runs, excluded), excluded)
  for one in excluded:
    say(f"set aside: {one}")
  exclusions.check_any_left(scored, excluded)
  boards = build.boards(scored)
  return dataclasses.replace(asked, boards=boards, scored=scored)


def draw(
  figures: Sequence[base.PaperFigure],
  asked: base.Request,
  folder: epath.Path,
  say: Callable[[str], None] = print,
) -> list[epath.Path]:
  """Draws every figure; of several, those that cannot be drawn are named.

  Runs of other data than a figure's printed numbers have files of their own.

  Args:
    figures: in the order in which they are drawn.
    asked: runs, and what else was asked for.
    folder: where the files go; made where it is not there.
    say: takes a line of what happened.

  Returns:
    The files.

  Raises:
    UserError: the only figure cannot be drawn, or none of several.
  """
  files: list[epath.Path] = []
  reasons: dict[str, str] = {}
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    parts = [part for figure in figures for part in figure.parts(asked)]
    for figure, request in parts:
      try:
        written = figure.draw(request, folder)
      except errors.UserError as e:
        if len(parts) == 1:
          raise
        reasons[figure.name] = str(e)
        continue
      files += written
      say(f"{figure.name}: {', '.join(p.name for p in written)}")
      if request.printed:
        _say_unused(figure, asked, say)
      else:
        say(f"{figure.name}: of other data than the printed numbers, so apart")
  for name, reason in reasons.items():
    say(f"{name}: not drawn. {reason}")
  if not files:
    raise errors.UserError(
      "None of these figures can be drawn from what was given; the lines above"
      " say what each needs."
    )
  return files


def _say_unused(
  figure: base.PaperFigure, asked: base.Request, say: Callable[[str], None]
) -> None:
  """Names the runs that a figure left out, and why."""
  unused = {
    entry.run: board.task
    for board in figure.unused(asked)
    for entry in board.runs
  }
  if not unused:
    return
  takes = " or ".join(figure.tasks)
  takes = f"takes runs of {takes}" if takes else "takes no runs"
  listed = ", ".join(f"{run} ({task})" for run, task in unused.items())
  say(f"{figure.name}: {takes}; not used: {listed}")
