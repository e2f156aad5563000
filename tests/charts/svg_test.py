"""SVG of figures: what a page may hold, what is shown on hover, equal bytes."""

import re

import numpy as np
from absl.testing import absltest

from robust_tfds import reading
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import Frame
from robust_tfds.charts.style import Value

_LABEL = 'a<b> & "c" \x1b$\\frac{'


def _svg(name="chart", label=_LABEL) -> str:
  values = [Value(1, 0.5, 2), Value(2.5)]
  panel = lines.Panel([lines.Line(label, [0, 1], values, 0)], title=label)
  return style.svg_text(lines.draw([panel], Frame(3, 2, legend="above")), name)


class SvgTest(absltest.TestCase):
  def test_it_is_fit_for_a_page(self):
    text = _svg()
    root = reading.xml_text(text.encode(), "chart")
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    self.assertNoCommonElements(tags, ["style", "metadata", "script"])
    for element in root.iter():
      self.assertNotIn("style", element.attrib)
    self.assertIn("fill", re.findall(r"\b[a-z-]+(?==)", text))
    self.assertNotIn("xlink", text)

  def test_words_are_text_and_escaped(self):
    root = reading.xml_text(_svg().encode(), "chart")
    texts = [e.text for e in root.iter() if e.tag.endswith("}text")]
    shown = _LABEL.replace("\x1b", "\N{REPLACEMENT CHARACTER}")
    self.assertEqual(texts.count(shown), 2)  # title and legend

  def test_a_line_says_its_numbers_on_hover(self):
    root = reading.xml_text(_svg(label="fog").encode(), "chart")
    (title,) = [e.text for e in root.iter() if e.tag.endswith("}title")]
    self.assertEqual(title, "fog\n0: 1 (0.5–2)\n1: 2.5")

  def test_empty_groups_and_pictures(self):
    figure = style.figure(2, 2)
    axes = style.axes(figure, 1, 1)[0, 0]
    axes.imshow(np.zeros([2, 2, 3]), interpolation="none")
    axes.scatter([], [])
    root = reading.xml_text(style.svg_text(figure, "a").encode(), "chart")
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    self.assertEqual(tags.count("image"), 1)

  def test_equal_bytes_and_ids_of_the_name_alone(self):
    self.assertEqual(_svg(), _svg())
    ids = [set(re.findall(r'\bid="(\w+)"', _svg(name))) for name in "ab"]
    self.assertNotEmpty(ids[0])
    self.assertNoCommonElements(*ids)

  def test_every_reference_leads_somewhere(self):
    text = _svg()
    ids = set(re.findall(r'\bid="(\w+)"', text))
    self.assertEqual(
      set(re.findall(r"#(\w+)[\")]", text)) - ids, _colours(text)
    )


def _colours(text: str) -> set[str]:
  return set(re.findall(r'"#([0-9a-f]{6})"', text))
