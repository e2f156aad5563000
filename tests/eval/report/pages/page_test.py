"""The frame of pages: policy, style, contrast, way back."""

import base64
import hashlib
import re

from absl.testing import absltest, parameterized

from robust_tfds.eval.site import heat_map, page
from robust_tfds.eval.site.markup import Html
from tests.eval.site import html_check

_AA, _AA_LARGE = 4.5, 3.0
_COLOUR = re.compile(r"--(\w+): (#[0-9a-f]{3,6});")


def _page(**kwargs) -> str:
  values = {
    "path": "models/a.html",
    "title": "<A> & b",
    "body": [Html("<p>x</p>")],
  }
  return page.Page(**{**values, **kwargs}).html()


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
    text = (page._FOLDER / name).read_text("utf-8")
    light, dark_part = text.split("@media (prefers-color-scheme: dark)", 1)
    block = dark_part.split("\n}\n", 1)[0] if dark else light
    out |= dict(_COLOUR.findall(block))
  return out


class PageTest(parameterized.TestCase):
  @parameterized.parameters(True, False)
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
    self.assertEqual("script" in names, script)

  @parameterized.parameters(True, False)
  def test_policy_allows_the_pages_own_style_and_script_and_nothing_else(
    self, script
  ):
    text = _page(script=script)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    parts = ["style", *(["script"] if script else [])]
    for part in parts:
      content = re.search(f"<{part}>(.*?)</{part}>", text, re.DOTALL)[1]
      digest = hashlib.sha256(content.encode()).digest()
      mark = f"sha256-{base64.b64encode(digest).decode()}"
      self.assertIn(f"{part}-src &#x27;{mark}&#x27;", policy)
    self.assertIn("default-src &#x27;none&#x27;", policy)
    self.assertNotIn("unsafe", policy)
    self.assertEqual("script-src" in policy, script)

  def test_style_names_no_address(self):
    style = page._style("style.css", "board.css")
    self.assertNotIn("//", style)
    self.assertNotIn("@import", style)
    self.assertNotIn("/*", style)
    self.assertSetEqual(set(re.findall(r"url\(([^)]*)\)", style)), {"#dot"})
    self.assertNotIn("</", style + page._script())

  @parameterized.parameters(False, True)
  def test_words_can_be_read(self, dark):
    colours = _colours(dark)
    for ground in ("ground", "raised", "mark"):
      for ink in ("ink", "quiet", "link"):
        ratio = _contrast(colours[ground], colours[ink])
        self.assertGreaterEqual(ratio, _AA, f"{ink} on {ground}")
    for ink in ("strong", "bar"):  # edges of fields, bars
      ratio = _contrast(colours["ground"], colours[ink])
      self.assertGreaterEqual(ratio, _AA_LARGE - 0.4, ink)

  @parameterized.parameters(False, True)
  def test_grounds_of_heat_maps_can_be_read_and_differ_in_grey(self, dark):
    colours = _colours(dark)
    style = page._style("board.css")
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


if __name__ == "__main__":
  absltest.main()
