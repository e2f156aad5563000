"""SVG of a figure, small and fit for an HTML page.

Matplotlib writes looks as `style`, which the policy of pages forbids, and names every
group. Here looks are attributes, groups have no names, words are text, and coordinates
have one decimal. `set_title` gives an artist a `<title>`, which browsers show on hover.
"""

from __future__ import annotations

import dataclasses
import io
import re
from typing import TYPE_CHECKING

import matplotlib

if TYPE_CHECKING:
  from matplotlib.artist import Artist
  from matplotlib.figure import Figure

_FONTS = "system-ui, 'DejaVu Sans', sans-serif"
_TITLE = "title: "
_MARKERS = (
  r'<g( clip-path="[^"]*")>'
  r'((?:<use href="[^"]*" x="[^"]*" y="[^"]*"([^>/]*)/>)+)</g>'
)
_PATHS = r'<path d="[^"]*"( [^>]*)/>(?:<path d="[^"]*"\1/>)+'
# Characters that no XML document may have, not even as references.
_FORBIDDEN = re.compile(
  r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


@dataclasses.dataclass(frozen=True)
class Chart:
  """A chart as a page shows it.

  Attributes:
    title: above it.
    label: a description for people who do not see it.
    svg: `style.svg_text` of its figure.
  """

  title: str
  label: str
  svg: str


def set_title(artist: Artist, words: str) -> None:
  """Set what a browser shows when the pointer is over an artist."""
  artist.set_gid(_TITLE + words)


def text(figure: Figure, salt: str) -> str:
  """Return a figure as the text of an SVG file; the same in every run.

  Args:
    figure: drawn as it is laid out.
    salt: begins the ids inside; different for each chart of a page.
  """
  options = {"svg.fonttype": "none", "svg.hashsalt": salt}
  out = io.BytesIO()
  with matplotlib.rc_context(options):  # type: ignore[arg-type]
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
  drawn = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", out.getvalue().decode())
  drawn = drawn[drawn.index("<svg") :]
  drawn = re.sub(r"<(metadata|style)\b.*?</\1>", "", drawn, flags=re.DOTALL)
  drawn = re.sub(r"<[^>]*>", lambda tag: _tag(tag[0]), drawn)
  drawn = re.sub(r">\s+<", "><", drawn).replace("<defs></defs>", "")
  drawn = re.sub(_MARKERS, _shared, drawn)
  drawn = re.sub(_PATHS, _joined, drawn)
  for _ in range(3):  # nested groups of one element
    drawn = re.sub(r"<g>(<(\w+)\b[^>]*(/>|>[^<]*</\2>))?</g>", r"\1", drawn)
  root = f'<svg font-family="{_FONTS}" stroke-linejoin="round" '
  return drawn.replace("<svg ", root, 1)


def _tag(tag: str) -> str:
  """Return a tag with short attributes in place of its style."""
  if tag.startswith("<g id="):
    if tag.endswith("/>"):  # an empty group
      return ""
    title = re.match(rf"<g id=([\"']){_TITLE}(.*)\1", tag, re.DOTALL)
    tag = f"<g><title>{title[2]}</title>" if title else "<g>"
    return tag
  tag = re.sub(r' style="([^"]*)"', lambda style: _attributes(style[1]), tag)
  tag = re.sub(r' transform="rotate\(-0 [^"]*"| xmlns:xlink="[^"]*"', "", tag)
  tag = re.sub(r' (d|x|y)="([^"]*)"', _rounded, tag)
  return tag.replace(" xlink:href=", " href=")


def _shared(group: re.Match) -> str:
  """Return a group of markers whose looks the group has, where all have these."""
  opening, markers, looks = group.groups()
  if markers.count(looks) < markers.count("<use"):
    return group[0]
  return f"<g{opening}{looks}>{markers.replace(looks, '')}</g>"


def _joined(paths: re.Match) -> str:
  """Return paths of equal looks, like the bars of a series, as one."""
  data = "".join(re.findall(r' d="([^"]*)"', paths[0]))
  return f'<path d="{data}"{paths[1]}/>'


def _attributes(style: str) -> str:
  pairs = dict(pair.split(":", 1) for pair in style.split(";") if ":" in pair)
  return "".join(
    f' {name.strip()}="{value.strip()}"'
    for name, value in pairs.items()
    if name.strip() != "font-family"
  )


def _rounded(attribute: re.Match) -> str:
  name, value = attribute.groups()
  value = re.sub(r"-?\d+\.\d+", lambda n: f"{float(n[0]):.1f}", value)
  value = re.sub(r"\.0\b", "", " ".join(value.split()))
  value = re.sub(r" *([A-Za-z]) *", r"\1", value)
  return f' {name}="{value}"'
