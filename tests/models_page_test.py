"""docs/MODELS.md is what its tool writes."""

from absl.testing import absltest

from robust_tfds import models
from tools import models_page


class ModelsPageTest(absltest.TestCase):
  def test_the_page_is_of_this_catalogue(self):
    self.assertEqual(
      models_page.FILE.read_text("utf-8"),
      models_page.text(),
      "run python -m tools.models_page",
    )

  def test_every_model_and_checkpoint_has_a_row(self):
    text = models_page.text()
    for name in models.names():
      self.assertEqual(text.count(f"\n| {name} |"), 1, name)
    row = next(r for r in text.splitlines() if r.startswith("| resnet50 |"))
    self.assertIn("| 25,557,032 | 4.089 | 224 px | short256_crop224 |", row)
    checkpoint = "\n| torchvision:ResNet50_Weights.IMAGENET1K_V2 | resnet50 |"
    self.assertEqual(text.count(checkpoint), 1)
