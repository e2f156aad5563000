"""Anchor sets stay whole; 2015 chooses whole videos."""

import ml_collections
from absl.testing import parameterized

from eval.tasks.detections import anchor_sets
from robust_tfds import errors


class CheckTest(parameterized.TestCase):
  def test_whole_sets(self):
    for subset in anchor_sets.WHOLE:
      anchor_sets.check(ml_collections.ConfigDict({"subset": subset}), True)

  @parameterized.parameters(
    ({"limit": 1}, True, "limit=1 would cut anchor sets apart"),
    ({"subset": "ids.txt"}, True, "subset='ids.txt' .* or take '2015'"),
    ({"source": "prepared"}, False, "nothing prepared to choose"),
  )
  def test_refusals(self, data, fly, words):
    with self.assertRaisesRegex(errors.UserError, words):
      anchor_sets.check(ml_collections.ConfigDict(data), fly)
