"""Fills templates of HTML pages: every value is escaped, and pages load nothing.

Style and script are inside the page. Its content security policy allows these two by
their hashes and nothing else: no request, no other script, no attribute `style`.
"""

import base64
import functools
import hashlib
import pathlib
import re
from collections.abc import Sequence
from typing import Any

import jinja2
import markupsafe

from robust_tfds import version

FOLDER = pathlib.Path(__file__).parent / "templates"
# Characters that no HTML document may have, not even as references.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class Templates:
  """The templates of a room and those that all rooms share."""

  def __init__(self, folder: pathlib.Path, **values: Any):
    """Find templates in the room's folder first, then in the shared one.

    Args:
      folder: the room's.
      **values: known to every template.
    """
    self.folders = folder, FOLDER
    self._environment = jinja2.Environment(
      loader=jinja2.FileSystemLoader(self.folders),
      autoescape=True,
      undefined=jinja2.StrictUndefined,
      trim_blocks=True,
      lstrip_blocks=True,
      finalize=_allowed,
    )
    self._environment.filters.update(
      words=_words, csp=_source, soft=_soft, chart=_chart
    )
    self._environment.globals.update(values, version=version.VERSION)

  def page(
    self,
    name: str,
    path: str,
    script: str = "",
    sheets: Sequence[str] = (),
    **values: Any,
  ) -> str:
    """Return a page of a site or a page that stands alone.

    Args:
      name: name of its template, which extends `page.html`.
      path: path of the page in the site; empty: it stands alone.
      script: name of a script; a style sheet of that name belongs to it.
      sheets: further style sheets.
      **values: what the template shows, with `title` and `up`.
    """
    own = [f"{script}.css"] if script else []
    return self._environment.get_template(name).render(
      path=path,
      root="../" * path.count("/"),
      style=self.style("style.css", *own, *sheets),
      script=self.script(f"{script}.js") if script else "",
      **values,
    )

  def style(self, *files: str) -> markupsafe.Markup:
    """Return style sheets one after the other, without comments and spaces."""
    return _style(tuple(map(self.file, files)))

  def script(self, name: str) -> markupsafe.Markup:
    """Return a script unchanged."""
    return markupsafe.Markup(self.file(name).read_text("utf-8"))

  def file(self, name: str) -> pathlib.Path:
    """Return the path of a template, a style sheet or a script."""
    return next(p for f in self.folders if (p := f / name).exists())


@functools.cache
def _style(files: Sequence[pathlib.Path]) -> markupsafe.Markup:
  text = "".join(file.read_text("utf-8") for file in files)
  text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
  text = re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", text))
  return markupsafe.Markup(text)


def _allowed(value: Any) -> Any:
  """Return a value without forbidden characters; markup is ours and stays."""
  if isinstance(value, markupsafe.Markup):
    return value
  return _FORBIDDEN.sub(_UNKNOWN, str(value))


def _words(name: str) -> str:
  return name.replace("_", " ")


def _soft(name: str) -> markupsafe.Markup:
  """Return a name that may break after its underscores, not inside a word."""
  text = markupsafe.escape(_allowed(name))
  return text.replace("_", markupsafe.Markup("_<wbr>"))


def _chart(svg: str, label: str) -> markupsafe.Markup:
  """Return a chart's SVG as an element of a page, with its label."""
  opening = markupsafe.Markup('<svg class="chart" role="img" aria-label="{}" ')
  return markupsafe.Markup(
    svg.replace("<svg ", opening.format(_allowed(label)), 1)
  )


@functools.cache
def _source(text: str) -> str:
  """Return a text's hash as content security policies write it."""
  digest = hashlib.sha256(text.encode("utf-8")).digest()
  return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
