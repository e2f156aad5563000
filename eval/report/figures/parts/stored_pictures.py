"""Figures of pictures that are stored in the reports of runs."""

import dataclasses
import io
from collections.abc import Iterable

import numpy as np
from etils import epath

from eval.readers.base import Run
from eval.report.figures import base
from eval.report.figures.parts import sheet
from robust_tfds import errors
from robust_tfds.reading import pictures


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoredPicture(base.PaperFigure):
  """A picture from the reports of each run.

  Attributes:
    file: its name in the run's folder `reports`.
  """

  needs_runs: bool = True
  file: str

  def drawn(self, request: base.Request) -> base.Drawn:
    self.boards(request)
    files, lines = copies(self.name, self.file, self._runs(request))
    if not files:
      raise errors.UserError(
        f"{self.name} ({self.title}) shows pixels, which no cell holds. They are"
        f" in {self.file} of a run's reports, and these runs have none: run"
        " eval.main with --config.reports=true."
      )
    table = sheet.Sheet(("file", "source"), lines)
    return base.Drawn(None, (), table, pictures=files)

  def _runs(self, request: base.Request) -> list[Run]:
    runs = [
      s.side.run for s in request.scored if s.side.run.task_name in self.tasks
    ]
    return list({run.name: run for run in runs}.values())


def copies(
  name: str, file: str, runs: Iterable[Run]
) -> tuple[dict[str, bytes], list[list[sheet.Cell]]]:
  """Return pictures from the reports of runs, and CSV lines with their runs.

  Args:
    name: name of the first copy; the others are numbered.
    file: its name in a run's folder `reports`.
    runs: each once.
  """
  files: dict[str, bytes] = {}
  lines: list[list[sheet.Cell]] = []
  for run in runs:
    for place in (f / "reports" / file for f in run.folders):
      if place.exists():
        end = f"_{len(files) + 1}" if files else ""
        files[f"{name}{end}.png"] = _copy(place)
        lines.append([f"{name}{end}.png", f"own run {run.name}, {file}"])
  return files, lines


def _copy(place: epath.Path) -> bytes:
  """Encode a picture again, so that only the pixels of a foreign file are kept."""
  from PIL import Image

  pixels = np.asarray(pictures.picture(place))
  out = io.BytesIO()
  Image.fromarray(pixels).save(out, format="PNG")
  return out.getvalue()
