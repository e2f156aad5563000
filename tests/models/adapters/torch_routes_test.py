"""The page of torch networks is what was measured, and says what is so."""

from absl.testing import absltest

from tests.models.adapters import torch_routes


class TorchRoutesTest(absltest.TestCase):
  def test_page_is_of_the_rows(self):
    rows = torch_routes.read()
    self.assertNotEmpty(rows)
    text = torch_routes.PAGE.read_text()
    self.assertEqual(text, torch_routes.page(text, rows))

  def test_rows(self):
    for row in torch_routes.read():
      if row.route == "traced":
        # The adapter's probe is held to 1e-5; the rows are of other pictures.
        self.assertLessEqual(row.difference, 3e-5, row.name)
      else:
        self.assertStartsWith(row.route, "host: ")

  def test_table(self):
    row = torch_routes.Row("net", 224, "host: why", 2e-5, 3e-5, 0)
    text = torch_routes.page("# Top\n\n## Routes\n\nold\n\n## Next\n", [row])
    self.assertStartsWith(text, "# Top\n\n## Routes\n\n0 of 1 networks")
    self.assertIn("| net | 224 | host | 2.0e-05 (torch's own", text)
    self.assertEndsWith(text, "\n## Next\n")
    self.assertNotIn("old", text)
