"""A definition's unit and direction, in words."""

from absl.testing import absltest, parameterized

from robust_tfds.eval.site.definitions.base import Definition


class DefinitionTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, "%, stored as a fraction"),
    ({"percent": False}, "none"),
    ({"percent": False, "unit": "nats"}, "nats"),
  )
  def test_unit(self, changes, words):
    definition = Definition("nll", "NLL", "A loss.", **changes)
    self.assertEqual(definition.unit_words, words)

  @parameterized.parameters(
    ("lower", "lower is better"),
    ("higher", "higher is better"),
    ("", "neither is better"),
  )
  def test_sense(self, sense, words):
    definition = Definition("nll", "NLL", "A loss.", sense=sense)
    self.assertEqual(definition.sense_words, words)


if __name__ == "__main__":
  absltest.main()
