"""The page of definitions has all of them."""

from absl.testing import absltest

from robust_tfds.eval.metrics import definitions
from robust_tfds.eval.site import definitions_page
from tests.eval.site import html_check


class DefinitionsPageTest(absltest.TestCase):
  def test_page(self):
    page = html_check.Page(definitions_page.of().html())
    self.assertEmpty(page.faults)
    for topic in definitions.TOPICS:
      for definition in topic.metrics:
        self.assertIn(definitions.anchor(topic, definition), page.ids)
        for text in (definition.words, definition.formula, definition.source):
          self.assertIn(text, page.text)


if __name__ == "__main__":
  absltest.main()
