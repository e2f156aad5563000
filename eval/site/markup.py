"""HTML from Python: every text is escaped unless it is HTML already.

One rule for the whole site: `Html` is markup that this package made; whatever else
stands between tags or in an attribute is text and is escaped. Nothing else joins
names of users with markup.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

# What no HTML document may hold, not even as a reference.
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
# Elements without a content and an end.
_VOID = frozenset({"br", "col", "hr", "input", "link", "meta"})


class Html(str):
  """Markup, which is not escaped again."""

  __slots__ = ()


def escape(value: object) -> Html:
  """A text as markup, also for an attribute between quotes; markup stays.

  >>> escape("<b> & 'c'"), escape(Html("<b>"))
  ('&lt;b&gt; &amp; &#x27;c&#x27;', '<b>')
  """
  if isinstance(value, Html):
    return value
  return Html(html.escape(_FORBIDDEN.sub(_UNKNOWN, str(value))))


def join(parts: Iterable[object], between: str = "") -> Html:
  """Several parts one after the other; texts among them are escaped."""
  return Html(escape(between).join(escape(part) for part in parts))


def tag(name: str, /, *content: object, **attributes: object) -> Html:
  """An element.

  Args:
    name: of the element.
    *content: texts, which are escaped, and markup.
    **attributes: a `_` at the end is dropped and others become `-`; False and
      None leave an attribute out, True is one without a value.

  >>> tag("a", "A & B", href="x.html", data_k="p")
  '<a href="x.html" data-k="p">A &amp; B</a>'
  >>> tag("input", hidden=True, class_=None)
  '<input hidden>'
  """
  head = "".join(_attribute(k, v) for k, v in attributes.items())
  if name in _VOID:
    return Html(f"<{name}{head}>")
  return Html(f"<{name}{head}>{join(content)}</{name}>")


def words(name: str) -> str:
  """A name of tables as words, a text.

  >>> words("gaussian_noise")
  'gaussian noise'
  """
  return name.replace("_", " ")


def name_of(text: str) -> Html:
  """A name of a user, whose direction of writing stays its own."""
  return tag("bdi", text)


def _attribute(name: str, value: object) -> str:
  if value is None or value is False:
    return ""
  shown = name.rstrip("_").replace("_", "-")
  return f" {shown}" if value is True else f' {shown}="{escape(value)}"'
