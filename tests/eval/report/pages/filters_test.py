"""Forms: what can be chosen; hidden without a script."""

from absl.testing import absltest

from robust_tfds.eval.site import filters
from robust_tfds.eval.site import view as view_lib
from tests.eval.site import boards, html_check


def _values(page) -> list[str]:
  return [a["value"] for name, a in page.elements if name == "option"]


class FiltersTest(absltest.TestCase):
  def test_of_a_board(self):
    view = view_lib.View(boards.awkward())
    page = html_check.Page(filters.of_board(view))
    self.assertEmpty(page.faults)
    values = _values(page)
    for value in ("ranked", "ours", "partial", "seen", "printed", "fog"):
      self.assertIn(value, values)
    self.assertIn("group:weather", values)
    self.assertEqual(values[-5:], ["1", "2", "3", "4", "5"])
    self.assertIn("hidden", page.elements[0][1])

  def test_states_that_no_entry_has_are_not_offered(self):
    page = html_check.Page(filters.of_board(view_lib.View(boards.video())))
    self.assertNotIn("printed", _values(page))

  def test_of_the_index(self):
    tasks = [("video", "<b>Video</b>")]
    page = html_check.Page(filters.of_index(tasks, ["fog", "jpeg"]))
    self.assertEmpty(page.faults)
    self.assertEqual(_values(page), ["", "video", "", "fog", "jpeg"])
    self.assertIn("<b>Video</b>", page.text)

  def test_every_field_has_a_label(self):
    page = html_check.Page(filters.of_board(view_lib.View(boards.video())))
    names = [name for name, _ in page.elements]
    fields = names.count("input") + names.count("select")
    self.assertEqual(names.count("label"), fields)


if __name__ == "__main__":
  absltest.main()
