"""The frame of every page: head, way back, footer; nothing is loaded from anywhere.

Style and script stand in the page, and the page's policy allows these two by their
hashes and nothing else: no request, no other script, no attribute `style`.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import pathlib
import re
from collections.abc import Sequence

from robust_tfds import version
from robust_tfds.eval.site import layout
from robust_tfds.eval.site.markup import Html, join, tag

_FOLDER = pathlib.Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Page:
  """One page.

  Attributes:
    path: in the site.
    title: of the window and the heading.
    heading: what stands above the page; the title where empty.
    up: (words, path) of the pages above it, the highest first.
    body: below the heading.
    script: whether tables are sorted and filtered.
  """

  path: str
  title: str
  body: Sequence[Html]
  heading: Html = Html()
  up: Sequence[tuple[str, str]] = ()
  script: bool = False

  def html(self) -> str:
    """The whole document."""
    return (
      f"<!doctype html>\n{tag('html', self._head(), self._body(), lang='en')}\n"
    )

  def _head(self) -> Html:
    style = _style("style.css", *(["board.css"] if self.script else []))
    script = _script() if self.script else Html()
    policy = f"default-src 'none'; style-src {_source(style)}"
    if script:
      policy += f"; script-src {_source(script)}"
    return tag(
      "head",
      tag("meta", charset="utf-8"),
      tag(
        "meta",
        http_equiv="Content-Security-Policy",
        content=f"{policy}; base-uri 'none'; form-action 'none'",
      ),
      tag(
        "meta", name="viewport", content="width=device-width, initial-scale=1"
      ),
      tag("meta", name="color-scheme", content="light dark"),
      tag("title", self.title),
      tag("style", style),
    )

  def _body(self) -> Html:
    heading = self.heading or join([self.title])
    return tag(
      "body",
      tag("a", "Skip to content", class_="skip", href="#main"),
      self._header(),
      tag("main", tag("h1", heading), *self.body, id="main", tabindex="-1"),
      _footer(),
      tag("script", _script()) if self.script else Html(),
    )

  def _header(self) -> Html:
    links = [
      tag("a", tag("bdi", words), href=layout.relative(path, self.path))
      for words, path in self.up
    ]
    definitions = tag(
      "a",
      "Definitions",
      href=layout.relative(layout.DEFINITIONS, self.path),
      aria_current="page" if self.path == layout.DEFINITIONS else None,
    )
    way = tag("nav", *links, class_="way", aria_label="Way back")
    other = tag("nav", definitions, aria_label="Site")
    return tag("header", way if links else Html(), other)


def section(title: str, *content: object, id_: str | None = None) -> Html:
  """A part of a page under its heading."""
  return tag("section", tag("h2", title), *content, id=id_)


def scroll_box(label: str, *content: object, **attributes: object) -> Html:
  """What may be wider than the page, in a box that scrolls by itself."""
  return tag(
    "div",
    *content,
    class_="scroll",
    role="region",
    tabindex="0",
    aria_label=label,
    **attributes,
  )


def caption(*content: object) -> Html:
  """Of a table; it stays in sight where the table scrolls."""
  return tag("caption", tag("span", *content))


def note(*content: object) -> Html:
  """Small print."""
  return tag("p", *content, class_="note")


def _footer() -> Html:
  made = f"Made by robust_tfds {version.VERSION}. Intervals cover 95 %."
  return tag("footer", tag("p", made))


@functools.cache
def _style(*files: str) -> Html:
  """Style sheets one after the other, without what only readers need."""
  text = "".join((_FOLDER / file).read_text("utf-8") for file in files)
  text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
  return Html(re.sub(r"\s*([{};])\s*", r"\1", re.sub(r"\s+", " ", text)))


@functools.cache
def _script() -> Html:
  return Html((_FOLDER / "board.js").read_text("utf-8"))


@functools.cache
def _source(text: str) -> str:
  """A hash as content security policies name it."""
  digest = hashlib.sha256(text.encode("utf-8")).digest()
  return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
