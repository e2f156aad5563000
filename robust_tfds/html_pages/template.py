"""Fills the templates: every value is escaped, nothing is loaded from anywhere.

Style and script stand in the page, and the policy of a site's pages allows these two
by their hashes and nothing else: no request, no other script, no attribute `style`.
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
# What no HTML document may hold, not even as a reference.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class Templates:
  """The templates of a room, and the ones here that all rooms share."""

  def __init__(self, folder: pathlib.Path, **values: Any):
    """Reads none yet.

    Args:
      folder: of the room's own, which come first.
      **values: that every template knows.
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
    """A page of the site, or of a run, which stands alone.

    Args:
      name: of its template, which extends `page.html`.
      path: of the page in the site; empty of a page that stands alone.
      script: file of a script that the page runs; its style sheet has its name.
      sheets: style sheets besides.
      **values: what the template shows; `title` and `up` among them, see there.
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
    """Style sheets one after the other, without what only readers need."""
    return _style(tuple(map(self.file, files)))

  def script(self, name: str) -> markupsafe.Markup:
    """A script as it stands."""
    return markupsafe.Markup(self.file(name).read_text("utf-8"))

  def file(self, name: str) -> pathlib.Path:
    """Where a template, a style sheet or a script lies."""
    return next(p for f in self.folders if (p := f / name).exists())


@functools.cache
def _style(files: Sequence[pathlib.Path]) -> markupsafe.Markup:
  text = "".join(file.read_text("utf-8") for file in files)
  text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
  text = re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", text))
  return markupsafe.Markup(text)


def _allowed(value: Any) -> Any:
  """A value without what no document may hold; markup is ours and stays."""
  if isinstance(value, markupsafe.Markup):
    return value
  return _FORBIDDEN.sub(_UNKNOWN, str(value))


def _words(name: str) -> str:
  """A name of tables as words."""
  return name.replace("_", " ")


def _soft(name: str) -> markupsafe.Markup:
  """A name that lines break behind its underscores, and not inside a word."""
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
  """A hash as content security policies name it."""
  digest = hashlib.sha256(text.encode("utf-8")).digest()
  return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
