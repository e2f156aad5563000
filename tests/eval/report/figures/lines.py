"""The CSV that a figure writes."""

import csv
import pathlib

from robust_tfds.eval.report import figures
from robust_tfds.eval.report.figures import base


def of(
  name: str, folder: pathlib.Path, request: base.Request | None = None
) -> list[dict[str, str]]:
  """Draws a figure into a folder; gives its lines by heading."""
  (figure,) = figures.select(name)
  figure.draw(request or base.Request(), folder)
  with open(folder / f"{name}.csv", encoding="utf-8") as file:
    return list(csv.DictReader(file))
