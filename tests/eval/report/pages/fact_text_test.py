"""Facts in words."""

from absl.testing import parameterized

from eval.cells import cell_facts
from eval.report.pages import fact_text


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
    ("trained_on", None, "not stated"),
    ("weights", None, "unknown"),
    ("views", 1.5, "1.5"),
  )
  def test_values(self, name, value, text):
    self.assertEqual(fact_text.value(name, value), text)

  def test_hashes_by_their_beginnings(self):
    self.assertEqual(fact_text.short("ids", "0" * 64), "000000000000...")
    self.assertEqual(fact_text.short("px", [32, 32]), "32 x 32")
    self.assertEqual(fact_text.short("ids", None), "unknown")

  def test_what_is_unknown_is_named(self):
    facts = {"codec": "raw", "trained_on": None, "weights": None}
    self.assertEqual(fact_text.unknown_names(facts), ["weights, sha256"])

  def test_every_fact_has_words(self):
    names = [
      *cell_facts.DataFacts.model_fields,
      *cell_facts.ModelFacts.model_fields,
    ]
    for name in names:
      self.assertNotIn("_", fact_text.name(name))
