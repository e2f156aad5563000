"""Charts that runs and trainings share: panels, lines, saved files, SVG."""

import re

import numpy as np
from absl.testing import absltest

from eval.cells import table
from robust_tfds import reading
from robust_tfds.charts import lines, style
from robust_tfds.charts.frame import ABOVE, INSIDE, OVER, Frame
from robust_tfds.charts.style import Value
from tests import in_folder


def _draw(count, **frame):
  line = lines.Line("one", [0, 1], [Value(1)] * 2, 0)
  panel = lines.Panel([line], title="title")
  return lines.draw([panel] * count, Frame(6, 4, **frame))


class FrameTest(absltest.TestCase):
  def test_panels_that_are_not_needed_are_not_seen(self):
    fig = _draw(3, columns=2, x="below", y="left")
    self.assertEqual([a.get_visible() for a in fig.axes], [True] * 3 + [False])
    self.assertEqual([a.get_ylabel() for a in fig.axes], ["left", ""] * 2)
    self.assertEqual([a.get_xlabel() for a in fig.axes[:3]], ["", "", "below"])
    self.assertEqual(fig.axes[0].get_title(loc="left"), "title")

  def test_axes_that_are_not_shared_have_words_of_their_own(self):
    fig = _draw(2, x="below", y="left", share="")
    self.assertEqual([a.get_ylabel() for a in fig.axes], ["left"] * 2)

  def test_ends_and_ticks(self):
    ends = {"x_ends": (-1, 2), "y_ends": (0, None)}
    (ax,) = _draw(1, x_ticks=([0, 1], ["a", "b"]), **ends).axes
    self.assertEqual(ax.get_xlim(), (-1, 2))
    self.assertEqual(ax.get_ylim()[0], 0)
    self.assertEqual([t.get_text() for t in ax.get_xticklabels()], ["a", "b"])

  def test_legends(self):
    above = _draw(2, legend=ABOVE, title="all")
    self.assertLen(above.legends, 1)
    self.assertEqual(above.legends[0].get_title().get_text(), "all")
    for place in (INSIDE, OVER):
      fig = _draw(2, legend=place)
      self.assertTrue(all(a.get_legend() for a in fig.axes))
    self.assertIsNone(_draw(1).axes[0].get_legend())


def _axes(line, **panel):
  drawn = lines.draw([lines.Panel([line], **panel)], Frame(4, 3))
  return drawn.axes[0]


class LinesTest(absltest.TestCase):
  def test_a_band_is_the_interval(self):
    values = [Value(1, 0.5, 2), Value(2, 1, 4)]
    ax = _axes(lines.Line("a", [0, 1], values, 1))
    (line,), (band,) = ax.lines, ax.patches
    np.testing.assert_array_equal(line.get_ydata(), [1, 2])
    self.assertEqual(line.get_color(), style.colour(1))
    ends = band.get_xy()[:, 1]
    self.assertEqual((ends.min(), ends.max()), (0.5, 4))

  def test_without_intervals_there_is_no_band(self):
    self.assertEmpty(_axes(lines.Line("a", [0], [Value(1)], 0)).patches)

  def test_a_band_does_not_narrow_to_a_point_without_an_interval(self):
    values = [Value(1, 0.5, 2), Value(2)]
    ax = _axes(lines.Line("a", [0, 1], values, 1))
    (whiskers,) = ax.collections
    self.assertEqual(whiskers.get_segments()[0][:, 1].tolist(), [0.5, 2])

  def test_whiskers(self):
    ax = _axes(lines.Line("a", [0], [Value(1, 0, 3)], 0, whiskers=True))
    (whiskers,) = ax.collections
    self.assertEqual(whiskers.get_segments()[0][:, 1].tolist(), [0, 3])

  def test_levels_and_looks(self):
    line = lines.Line("a", [0], [Value(1)], 0, looks={"linestyle": ":"})
    ax = _axes(line, levels=[(7, 2)], x="below")
    self.assertEqual(ax.lines[0].get_linestyle(), ":")
    self.assertEqual(ax.collections[0].get_segments()[0][0].tolist(), [1, 7])
    self.assertEqual(ax.get_xlabel(), "below")


class StyleTest(in_folder.TestCase):
  def test_whiskers(self):
    row = table.Row("m", "d", "", "", None, "error", 0.5, 0.4, 0.7)
    got = style.whiskers([style.scaled(row), style.Value(3)])
    np.testing.assert_allclose(got, [[10, 0], [20, 0]])
    self.assertIsNone(style.whiskers([style.Value(1)]))

  def test_a_complement_turns_the_interval_round(self):
    got = style.scaled(style.Value(0.5, 0.4, 0.75), -100, 100)
    self.assertEqual(got, style.Value(50, 25, 60))
    self.assertIsNone(style.scaled(style.Value(1)).lo)

  def test_a_dollar_is_no_mathematics(self):
    figure = style.figure(2, 2)
    axes = style.axes(figure, 1, 1)[0, 0]
    axes.set_yticks([0], ["$\\frac{"])
    axes.plot([0], [0], label="$\\frac{")
    axes.legend()
    png, svg = style.save(figure, self.root, "a", ["$\\frac{"])
    self.assertTrue(png.exists() and svg.exists())

  def test_a_long_caption_stays_inside(self):
    figure = style.figure(4, 2)
    style.axes(figure, 1, 1)
    style.save(figure, self.root, "a", ["words of a caption"] * 30)
    (caption,) = [t for t in figure.texts if "caption" in t.get_text()]
    box, page = caption.get_window_extent(), figure.bbox
    self.assertLessEqual(box.x1, page.x1)
    self.assertGreaterEqual(box.y0, page.y0)

  def test_a_figure_is_drawn_once_a_file(self):
    figure, drawn = style.figure(2, 2), []
    axes = style.axes(figure, 1, 1)[0, 0]
    axes.draw = lambda renderer: drawn.append(renderer)
    style.save(figure, self.root, "a", [])
    self.assertLen(drawn, 2)

  def test_colours_begin_again(self):
    self.assertEqual(style.colour(len(style.COLOURS)), style.colour(0))
    self.assertEqual(style.marker(len(style.MARKERS)), style.marker(0))
    self.assertEqual(style.hatch(len(style.HATCHES)), style.hatch(0))


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
