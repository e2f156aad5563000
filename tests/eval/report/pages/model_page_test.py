"""An entry's page: all numbers, facts, notes."""

from absl.testing import absltest, parameterized

from robust_tfds.eval.site import layout as layout_lib
from robust_tfds.eval.site import model_page
from robust_tfds.eval.site import view as view_lib
from tests.eval.site import boards, html_check

_ALL = boards.several()


def _html(board, entry) -> str:
  layout = layout_lib.Layout.of([board])
  return model_page.of(view_lib.View(board), entry, layout).html()


def _page(board, place=0) -> html_check.Page:
  return html_check.Page(_html(board, board.entries[place]))


class ModelPageTest(parameterized.TestCase):
  @parameterized.parameters(*range(len(_ALL)))
  def test_every_kind_of_entry(self, place):
    board = _ALL[place]
    for entry in board.entries:
      page = html_check.Page(_html(board, entry))
      self.assertEmpty(page.faults)
      self.assertIn(entry.label, page.text)
      self.assertNotIn("script", [name for name, _ in page.elements])

  def test_rank_and_its_range_in_words(self):
    board = boards.classification(4)
    text = _page(board, 1).text
    self.assertIn("Rank 2 of 4 by mCE; the data leave ranks 1 to 3 open.", text)
    self.assertIn("seed ", text)

  def test_states_in_words(self):
    board = boards.awkward()
    page = _page(board, -2)
    self.assertIn("Partial. missing: fog 3, fog 4 (2 of 75)", page.text)
    self.assertIn("Not ranked.", page.text)
    printed = _page(board, -1)
    self.assertIn("Printed.", printed.text)
    self.assertIn("Source: Hendrycks & Dietterich 2019", printed.text)

  def test_missing_facts_are_named(self):
    text = _page(boards.classification(1)).text
    self.assertIn("Unknown: classes, sha256.", text)
    self.assertIn("trained onImageNet-1k, training split", text)


if __name__ == "__main__":
  absltest.main()
