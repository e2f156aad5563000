"""Pages: what is escaped; policy, style, contrast, way back."""

import base64
import hashlib
import html
import re

import jinja2
from absl.testing import parameterized

from eval.report.pages import heat_map, template
from tests.eval.report.pages import boards, html_check

_AA, _AA_LARGE = 4.5, 3.0
_COLOUR = re.compile(r"--(\w+): (#[0-9a-f]{3,6});")


def _page(script="", **values) -> str:
  shown = {"title": "<A> & b", "up": (), "path": "models/a.html", **values}
  return template.page("page.html", script=script, **shown)


def _luminance(colour: str) -> float:
  digits = colour.lstrip("#")
  wide = "".join(2 * d for d in digits) if len(digits) == 3 else digits
  parts = [int(wide[i : i + 2], 16) / 255 for i in (0, 2, 4)]
  linear = [
    c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts
  ]
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
  low, high = sorted((_luminance(one), _luminance(other)))
  return (high + 0.05) / (low + 0.05)


def _colours(dark: bool) -> dict[str, str]:
  """Those of light pages, or of dark ones."""
  out = {}
  for name in ("style.css", "board.css"):
    text = template.TEMPLATES.file(name).read_text("utf-8")
    light, dark_part = text.split("@media (prefers-color-scheme: dark)", 1)
    block = dark_part.split("\n}\n", 1)[0] if dark else light
    out |= dict(_COLOUR.findall(block))
  return out


class PageTest(parameterized.TestCase):
  @parameterized.parameters("board", "")
  def test_page(self, script):
    text = _page(
      script=script, up=[("All", "index.html"), ("<b>", "boards/b.html")]
    )
    found = html_check.Page(text)
    self.assertEmpty(found.faults)
    self.assertIn("../boards/b.html", found.links)
    self.assertTrue(text.startswith("<!doctype html>"))
    names = [name for name, _ in found.elements]
    self.assertEqual(names.count("h1"), 1)
    self.assertEqual("script" in names, bool(script))

  @parameterized.parameters("board", "")
  def test_policy_allows_the_pages_own_style_and_script_and_nothing_else(
    self, script
  ):
    text = _page(script=script)
    content = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    policy = html.unescape(content)
    parts = ["style", *(["script"] if script else [])]
    for part in parts:
      content = re.search(f"<{part}>(.*?)</{part}>", text, re.DOTALL)[1]
      digest = hashlib.sha256(content.encode()).digest()
      mark = f"sha256-{base64.b64encode(digest).decode()}"
      self.assertIn(f"{part}-src '{mark}'", policy)
    self.assertIn("default-src 'none'", policy)
    self.assertNotIn("unsafe", policy)
    self.assertEqual("script-src" in policy, bool(script))

  def test_names_stay_texts(self):
    for name in boards.ODD_NAMES:
      page = html_check.Page(_page(title=name, up=[(name, "index.html")]))
      self.assertEmpty(page.faults)
      self.assertEqual(page.texts.count(name), 3)  # of window, way and heading

  def test_what_html_forbids_is_replaced(self):
    for character in ("\x00", "\x1b", "\x7f", "\ud800"):
      text = _page(title=f"a{character}b")
      self.assertIn("a\N{REPLACEMENT CHARACTER}b", text)
      self.assertNotIn(character, text)
      text.encode("utf-8")

  def test_a_value_that_is_not_given_is_no_empty_text(self):
    with self.assertRaisesRegex(jinja2.UndefinedError, "topics"):
      template.page("definitions.html", "a.html", title="", up=())

  def test_style_names_no_address(self):
    style = template.TEMPLATES.style("style.css", "board.css")
    self.assertNotIn("//", style)
    self.assertNotIn("@import", style)
    self.assertNotIn("/*", style)
    self.assertNotIn("url(", style)
    self.assertNotIn("</", style + template.TEMPLATES.script("board.js"))

  @parameterized.parameters(False, True)
  def test_words_can_be_read(self, dark):
    colours = _colours(dark)
    for ground in ("ground", "raised", "mark"):
      for ink in ("ink", "quiet", "link"):
        ratio = _contrast(colours[ground], colours[ink])
        self.assertGreaterEqual(ratio, _AA, f"{ink} on {ground}")
    ratio = _contrast(colours["ground"], colours["strong"])  # edges of fields
    self.assertGreaterEqual(ratio, _AA_LARGE - 0.4)

  @parameterized.parameters(False, True)
  def test_grounds_of_heat_maps_can_be_read_and_differ_in_grey(self, dark):
    colours = _colours(dark)
    style = template.TEMPLATES.style("board.css")
    steps = []
    for step in range(heat_map.STEPS):
      rule = f".h{step}{{background: var(--h{step});color: var\\(--(\\w+)\\)"
      ink = re.search(
        rule.replace("var(--h", r"var\(--h").replace(");c", r"\);c"), style
      )[1]
      ground = colours[f"h{step}"]
      self.assertGreaterEqual(_contrast(ground, colours[ink]), _AA, str(step))
      steps.append(_luminance(ground))
    self.assertEqual(steps, sorted(steps, reverse=not dark))
    for one, other in zip(steps, steps[1:]):
      ratio = (max(one, other) + 0.05) / (min(one, other) + 0.05)
      self.assertGreater(ratio, 1.15)
