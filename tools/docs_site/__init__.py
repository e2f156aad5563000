"""A Sphinx extension that adds generated parts to the repository's own pages.

`docs/conf.py` names it. Pages are generated as Sphinx reads them, from the
builders, the metrics, the catalogue of models and the public surface; nothing is
committed. A page of a data set is its README with its facts behind it.
"""

from __future__ import annotations

import pathlib
from typing import Any

from tools.docs_site import api, metrics, models, pictures, sets

_HTML = (
  '<meta http-equiv="refresh" content="0; url=docs/index.html">'
  '<a href="docs/index.html">robust_tfds</a>\n'
)


def setup(app: Any) -> dict[str, bool]:
  """Register the extension; Sphinx calls it."""
  app.connect("builder-inited", _draw)
  app.connect("source-read", _read)
  app.connect("build-finished", _finish)
  return {"parallel_read_safe": True, "parallel_write_safe": True}


def text(page: str, source: str, drawn: pictures.Drawn) -> str:
  """Return a page with its generated part.

  Args:
    page: its path without the ending.
    source: the file's own text.
    drawn: the pictures of the sets.
  """
  folder, _, name = page.removesuffix("/README").rpartition("/")
  if folder == "robust_tfds/datasets":
    return sets.page(name, source, drawn)
  if page == "docs/evidence/DATASETS":
    title, _, rest = source.partition("\n")
    return f"{title}\n{sets.index(drawn)}{rest}"
  behind = {
    "docs/evidence/API": api.text,
    "docs/evidence/INTERVALS": metrics.text,
    "docs/evidence/MODELS": models.text,
  }
  return source + behind[page]() if page in behind else source


def _draw(app: Any) -> None:
  """Draw pictures into the folder of Sphinx's intermediate files."""
  folder = pathlib.Path(app.doctreedir, "pictures")
  app.drawn = pictures.draw(folder, pathlib.Path(app.srcdir))


def _read(app: Any, page: str, source: list[str]) -> None:
  source[0] = text(page, source[0], app.drawn)


def _finish(app: Any, failed: Exception | None) -> None:
  """Write an index that leads to the site's first page."""
  if not failed:
    pathlib.Path(app.outdir, "index.html").write_text(_HTML, "utf-8")
