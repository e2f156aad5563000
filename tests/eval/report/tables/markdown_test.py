"""Markdown that stays what it says."""

from absl.testing import absltest

from robust_tfds.eval.report.tables import markdown


class MarkdownTest(absltest.TestCase):
  def test_escape(self):
    self.assertEqual(markdown.escape("a_b*|<&>"), "a\\_b\\*\\|&lt;&amp;&gt;")

  def test_links_code_and_lines(self):
    self.assertEqual(
      markdown.escape("[a](b) `c` \\d\n$e$"),
      "\\[a\\](b) \\`c\\` \\\\d \\$e\\$",
    )

  def test_heads(self):
    self.assertEqual(markdown.heads(["a", "b"]), "| a | b |\n|---|---|")
    self.assertEndsWith(markdown.heads(["a", "b"], numbers=True), "|---|---:|")


if __name__ == "__main__":
  absltest.main()
