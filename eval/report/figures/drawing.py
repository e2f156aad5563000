"""Draws figures one after the other, and reports what was left out."""

import dataclasses
from collections.abc import Callable, Sequence

from etils import epath

from eval.report.figures import base
from robust_tfds import errors
from robust_tfds.storage import disk


def add_runs(
  request: base.Request, runs: Sequence[str], say: Callable[[str], None] = print
) -> base.Request:
  """Return a request with the numbers of runs.

  Args:
    request: without runs.
    runs: their folders.
    say: receives a line for each run and model that is set aside.

  Raises:
    UserError: a path is not a folder, or no model is left.
  """
  if not runs:
    return request
  from eval.compare import runs as runs_lib
  from eval.compare import scores
  from eval.compare.boards import build, exclusions

  excluded: list[exclusions.Exclusion] = []
  scored = scores.score_runs(runs_lib.read(runs, excluded), excluded)
  for exclusion in excluded:
    say(f"set aside: {exclusion}")
  exclusions.check_any_left(scored, excluded)
  boards = build.boards(scored)
  return dataclasses.replace(request, boards=boards, scored=scored)


def draw(
  figures: Sequence[base.PaperFigure],
  request: base.Request,
  folder: epath.Path,
  say: Callable[[str], None] = print,
) -> list[epath.Path]:
  """Draw every figure, and report those that cannot be drawn.

  Runs of other data than a figure's printed numbers get separate files.

  Args:
    figures: in the order in which they are drawn.
    request: their data.
    folder: for the files; created if it is missing.
    say: receives lines about what happened.

  Returns:
    The files.

  Raises:
    UserError: no figure can be drawn.
  """
  files: list[epath.Path] = []
  reasons: dict[str, str] = {}
  with disk.writing(folder):
    folder.mkdir(parents=True, exist_ok=True)
    parts = [pair for figure in figures for pair in figure.parts(request)]
    for figure, part in parts:
      try:
        written = figure.draw(part, folder)
      except errors.UserError as e:
        if len(parts) == 1:
          raise
        reasons[figure.name] = str(e)
        continue
      files += written
      say(f"{figure.name}: {', '.join(p.name for p in written)}")
      if part.printed:
        _say_unused(figure, request, say)
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
  figure: base.PaperFigure, request: base.Request, say: Callable[[str], None]
) -> None:
  """Report the runs that a figure left out, and why."""
  unused = {
    entry.run: board.task
    for board in figure.unused(request)
    for entry in board.runs
  }
  if not unused:
    return
  takes = " or ".join(figure.tasks)
  takes = f"takes runs of {takes}" if takes else "takes no runs"
  listed = ", ".join(f"{run} ({task})" for run, task in unused.items())
  say(f"{figure.name}: {takes}; not used: {listed}")
