"""Baselines: which data sets a published one holds for, and what is said."""

from absl.testing import parameterized

from eval.tasks.headlines import baselines
from robust_tfds import errors


class BaselinesTest(parameterized.TestCase):
  def test_model_label(self):
    self.assertEqual(baselines.model_label("model:a:b"), "a:b")
    self.assertEqual(baselines.model_label("alexnet"), "")

  @parameterized.parameters(
    ("imagenet_c", True),
    ("imagenet_p", True),
    ("somebodys_c", True),  # not known here: if it is asked for
    ("cifar10_c", False),
    ("tiny_imagenet_p", False),
    ("digits_c", False),
  )
  def test_alexnet_holds_for_imagenet_alone(self, dataset, holds):
    self.assertEqual(baselines.holds("alexnet", dataset), holds)
    ours = dataset.startswith("imagenet_")
    self.assertEqual(baselines.default(dataset), "alexnet" if ours else "")
    if holds:
      baselines.check("alexnet", [], dataset)
    else:
      with self.assertRaisesRegex(errors.UserError, f"not of {dataset}. Leave"):
        baselines.check("alexnet", [], dataset)
    baselines.check("", [], dataset)
    baselines.check("model:mine", ["mine"], dataset)

  @parameterized.parameters("imagenet_c", "imagenet_p")
  def test_alexnet_is_of_one_edition(self, dataset):
    baselines.check("alexnet", [], dataset, "imagenet")
    with self.assertRaisesRegex(
      errors.UserError, "of the edition imagenet, not of inception"
    ):
      baselines.check("alexnet", [], dataset, "inception")
    self.assertIn(
      "not of inception", baselines.describe("", dataset, "inception")
    )

  def test_words(self):
    self.assertEqual(
      baselines.describe("", "imagenet_c"), "none: plain means only"
    )
    self.assertStartsWith(
      baselines.describe("", "cifar10_c"),
      "none: plain means only; AlexNet's published numbers are of imagenet_c",
    )
    self.assertIn("AlexNet (", baselines.describe("alexnet", "imagenet_c"))
    self.assertEndsWith(
      baselines.describe("alexnet", "imagenet_c", "imagenet", "raw"),
      "; its numbers are of codec jpeg85 or published, these of raw",
    )
    self.assertNotIn(
      "codec", baselines.describe("alexnet", "imagenet_c", "", "jpeg85")
    )
    self.assertIn("mine,", baselines.describe("model:mine", "cifar10_c"))

  @parameterized.parameters(
    ("alexnett", "Unknown baseline 'alexnett'. Did you mean 'alexnet'"),
    ("model:min", "Unknown baseline model 'min'. Did you mean 'mine'"),
  )
  def test_unknown(self, baseline, message):
    with self.assertRaisesRegex(errors.UserError, message):
      baselines.check(baseline, ["mine"], "imagenet_c")
