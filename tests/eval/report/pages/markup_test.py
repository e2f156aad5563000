"""Everything is escaped that is not markup of the site's own."""

from absl.testing import absltest, parameterized

from robust_tfds.eval.site import markup
from tests.eval.site import html_check
from tests.eval.site.boards import ODD_NAMES


class MarkupTest(parameterized.TestCase):
  @parameterized.parameters(*ODD_NAMES)
  def test_a_name_stays_a_text(self, name):
    page = html_check.Page(markup.tag("p", markup.name_of(name), title=name))
    self.assertEmpty(page.faults)
    self.assertEqual([n for n, _ in page.elements], ["p", "bdi"])
    self.assertEqual(page.text, name)
    self.assertEqual(page.elements[0][1]["title"], name)

  def test_markup_is_not_escaped_again(self):
    inner = markup.tag("b", "x < y")
    self.assertEqual(markup.tag("p", inner), "<p><b>x &lt; y</b></p>")

  def test_joined_texts_are_escaped(self):
    parts = markup.join(["a&b", markup.Html("<br>")], ", ")
    self.assertEqual(parts, "a&amp;b, <br>")
    self.assertEqual(markup.join(["a", "b"], "<"), "a&lt;b")

  def test_concatenation_with_a_text_is_escaped_at_the_next_step(self):
    text = markup.Html("<b>") + "<i>"
    self.assertEqual(markup.escape(text), "&lt;b&gt;&lt;i&gt;")

  @parameterized.parameters("\x00", "\x1b", "\x7f", "\ud800")
  def test_what_html_forbids_is_replaced(self, character):
    text = markup.escape(f"a{character}b")
    self.assertEqual(text, "a\N{REPLACEMENT CHARACTER}b")
    text.encode("utf-8")

  def test_attributes(self):
    tag = markup.tag("td", "x", class_="a", data_v=None, hidden=True, id=False)
    self.assertEqual(tag, '<td class="a" hidden>x</td>')


if __name__ == "__main__":
  absltest.main()
