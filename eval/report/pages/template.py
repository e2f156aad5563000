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
from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.report.pages import fact_text
from robust_tfds.eval.report.tables import numbers

FOLDER = pathlib.Path(__file__).parent / "templates"
INDEX, DEFINITIONS = "index.html", "definitions.html"
# What no HTML document may hold, not even as a reference.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def page(
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
  return (
    _environment()
    .get_template(name)
    .render(
      path=path,
      root="../" * path.count("/"),
      style=style("style.css", *own, *sheets),
      script=_script(f"{script}.js") if script else "",
      **values,
    )
  )


@functools.cache
def style(*files: str) -> markupsafe.Markup:
  """Style sheets one after the other, without what only readers need."""
  text = "".join((FOLDER / file).read_text("utf-8") for file in files)
  text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
  text = re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", text))
  return markupsafe.Markup(text)


@functools.cache
def _script(file: str) -> markupsafe.Markup:
  return markupsafe.Markup((FOLDER / file).read_text("utf-8"))


@functools.cache
def _environment() -> jinja2.Environment:
  environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(FOLDER),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_allowed,
  )
  environment.filters["words"] = definitions.words
  environment.filters["csp"] = _source
  environment.globals.update(
    definitions=definitions,
    facts=fact_text,
    numbers=numbers,
    version=version.VERSION,
    INDEX=INDEX,
    DEFINITIONS=DEFINITIONS,
  )
  return environment


def _allowed(value: Any) -> Any:
  """A value without what no document may hold; markup is ours and stays."""
  if isinstance(value, markupsafe.Markup):
    return value
  return _FORBIDDEN.sub(_UNKNOWN, str(value))


@functools.cache
def _source(text: str) -> str:
  """A hash as content security policies name it."""
  digest = hashlib.sha256(text.encode("utf-8")).digest()
  return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
