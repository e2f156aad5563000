"""What is wrong with a page, without a browser: nesting, ids, links, references."""

import html.parser
import re

_VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
# Elements whose end HTML lets out -> what begins without closing them first.
_OPTIONAL = {"td", "th", "tr", "li", "dt", "dd", "option"}
_CLOSES = {
  "td": {"td", "th"},
  "th": {"td", "th"},
  "tr": {"td", "th", "tr"},
  "option": {"option"},
}
_ELSEWHERE = re.compile(r"(?i)^\s*([a-z][a-z0-9+.-]*:|//)")
_LOADING = {"script", "img", "iframe", "object", "embed", "base", "link"}


class Page(html.parser.HTMLParser):
  """A page as it is read.

  Attributes:
    faults: what is wrong, in words.
    ids: of the page.
    links: what it refers to.
    texts: of it, without style and script.
    elements: (name, attributes) in order.
  """

  def __init__(self, text: str, *, images: bool = False):
    """`images`: whether pictures may stand in the page."""
    super().__init__(convert_charrefs=True)
    self._images = images
    self.faults: list[str] = []
    self.ids: list[str] = []
    self.links: list[str] = []
    self.texts: list[str] = []
    self.elements: list[tuple[str, dict]] = []
    self._open: list[str] = []
    self.feed(text)
    self.close()
    self.faults += [f"<{name}> is not closed" for name in self._open]
    twice = {i for i in self.ids if self.ids.count(i) > 1}
    self.faults += [f"id {i} is there twice" for i in sorted(twice)]
    here = {link[1:] for link in self.links if link.startswith("#")}
    self.faults += [f"#{i} leads nowhere" for i in here - set(self.ids)]

  def handle_starttag(self, tag, attrs):
    self._begin(tag, attrs)
    if tag not in _VOID:
      self._open.append(tag)

  def handle_startendtag(self, tag, attrs):
    self._begin(tag, attrs)

  def handle_endtag(self, tag):
    while self._open and self._open[-1] != tag and self._open[-1] in _OPTIONAL:
      self._open.pop()
    if not self._open or self._open.pop() != tag:
      self.faults.append(f"</{tag}> closes nothing, line {self.getpos()}")

  def handle_data(self, data):
    if not self._open or self._open[-1] not in ("style", "script"):
      self.texts.append(data)

  @property
  def text(self) -> str:
    """All texts."""
    return "".join(self.texts)

  def _begin(self, tag, attrs):
    while self._open and self._open[-1] in _CLOSES.get(tag, ()):
      self._open.pop()
    known = dict(attrs)
    self.elements.append((tag, known))
    if len(known) != len(attrs):
      self.faults.append(f"<{tag}> has an attribute twice")
    if "id" in known:
      self.ids.append(known["id"])
    if "style" in known or any(k.startswith("on") for k in known):
      self.faults.append(f"<{tag}> has style or script in an attribute")
    inside = self._images and tag in ("img", "image")
    if tag in _LOADING and tag != "script" and not inside:
      self.faults.append(f"<{tag}> loads something")
    for key in ("href", "src", "action", "srcset", "data", "poster"):
      if key in known:
        self.links.append(known[key])
        if inside and known[key].startswith("data:image/"):
          continue
        if _ELSEWHERE.match(known[key]) or key != "href":
          self.faults.append(f"<{tag}> leads to {known[key]}")
