"""Markdown that stays what it says."""

from absl.testing import absltest

from eval.tables import markdown


class MarkdownTest(absltest.TestCase):
  def test_escape(self):
    self.assertEqual(markdown.escape("a_b*|<&>"), "a\\_b\\*\\|&lt;&amp;&gt;")

  def test_links_code_and_lines(self):
    self.assertEqual(
      markdown.escape("[a](b) `c` \\d\n$e$"), "\\[a\\](b) \\`c\\` \\\\d \\$e\\$"
    )

  def test_table(self):
    for align, rule in (
      ("l", "|---|---|---|"),
      ("lr", "|---|---:|---:|"),
      ("lrl", "|---|---:|---|"),
    ):
      text = markdown.table("abc", ["123"], align)
      self.assertEqual(text, f"| a | b | c |\n{rule}\n| 1 | 2 | 3 |")
