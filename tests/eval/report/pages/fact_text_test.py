"""Facts in words."""

from absl.testing import absltest, parameterized

from robust_tfds.eval.cells import cell_facts
from robust_tfds.eval.site import fact_text
from tests.eval.site import html_check


class FactTextTest(parameterized.TestCase):
  @parameterized.parameters(
    ("px", [224, 224], "224 x 224"),
    ("source", "fly", "in the run, on the fly"),
    ("codec", "raw", "raw"),
    ("subset", "", "all examples"),
    ("edition", "", "none"),
    ("px", [], "each picture's own"),
    ("random", True, "yes"),
    ("examples", 50_000, "50,000"),
    ("examples", [10, 20], "10, 20"),
    ("corruptions_seen", [], "none"),
    ("preprocessing", {"mean": [0.5, 0.25]}, "mean 0.5, 0.25"),
    ("trained_on", None, "unknown"),
    ("views", 1.5, "1.5"),
  )
  def test_values(self, name, value, text):
    self.assertEqual(fact_text.value(name, value), text)

  def test_hashes_by_their_beginnings(self):
    self.assertEqual(fact_text.short("ids", "0" * 64), "000000000000...")
    self.assertEqual(fact_text.short("px", [32, 32]), "32 x 32")
    self.assertEqual(fact_text.short("ids", None), "unknown")

  def test_what_is_unknown_is_named_and_not_listed(self):
    facts = {"codec": "raw", "trained_on": None, "weights": None}
    page = html_check.Page(fact_text.definition_list(facts))
    self.assertEmpty(page.faults)
    self.assertEqual(page.text, "codecraw")
    text = html_check.Page(fact_text.unknown(facts)).text
    self.assertEqual(text, "Unknown: trained on, weights, sha256.")
    self.assertEqual(fact_text.unknown({"codec": "raw"}), "")

  def test_values_are_escaped(self):
    facts = {"trained_on": "<b>mine</b>", "x<y": {"<": ">"}}
    page = html_check.Page(fact_text.definition_list(facts))
    self.assertNotIn("b", [name for name, _ in page.elements])
    self.assertIn("<b>mine</b>", page.text)

  def test_every_fact_has_words(self):
    names = [
      *cell_facts.DataFacts.model_fields,
      *cell_facts.ModelFacts.model_fields,
    ]
    for name in names:
      self.assertNotIn("_", fact_text.name(name))


if __name__ == "__main__":
  absltest.main()
