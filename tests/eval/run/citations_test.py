"""What to cite of a run: package, benchmark, models, each once."""

import re

from absl.testing import parameterized

from eval.run.results import citations

_HENDRYCKS = "hendrycks2019benchmarking"


def _keys(*arguments, **options) -> list[str]:
  return re.findall(r"@\w+\{(.*?),", citations.text(*arguments, **options))


class CitationsTest(parameterized.TestCase):
  @parameterized.parameters(
    ("classification", "digits_c", _HENDRYCKS),
    ("sequences", "digits_p", _HENDRYCKS),
    ("detection", "digits_detection_c", "michaelis2019benchmarking"),
    ("video", "digits_video_p", "schiappa2023robustness"),
    ("classification", "pets", _HENDRYCKS),  # of one's own
  )
  def test_the_benchmark_is_cited(self, task, dataset, expected):
    keys = _keys(task, dataset, ["mine"])
    self.assertEqual(keys[0], "robust_tfds")
    self.assertEqual(keys.count(expected), 1)

  def test_frames_are_natural(self):
    keys = _keys("frames", "digits_vid_robust", [], natural=True)
    self.assertIn("shankar2021do", keys)

  def test_models_and_natural_sets_by_their_number(self):
    models = ["resnet50", "resnet101", "digits_cnn"]
    keys = _keys("classification", "imagenet_a", models, natural=True)
    expected = ["robust_tfds", "arxiv1907.07174", "arxiv1512.03385"]
    self.assertEqual(keys, expected)
