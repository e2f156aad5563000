"""What a network's first stages hold, and what weight decay spares."""

import itertools

from absl.testing import parameterized

from models import stages
from robust_tfds import models

_PATHS = [
  ("conv1", "kernel"),
  ("bn1", "scale"),
  ("layer1", "0", "conv1", "kernel"),
  ("layer2", "0", "conv1", "kernel"),
  ("layer10", "0", "conv1", "kernel"),
  ("fc", "kernel"),
]
_PATTERNS = ("conv1|bn1", r"layer(\d+)")


class StagesTest(parameterized.TestCase):
  @parameterized.parameters((0, 0), (1, 2), (2, 3), (3, 4), (4, 5))
  def test_the_stem_is_the_first_stage(self, count, paths):
    got = stages.first("x", _PATTERNS, _PATHS, count)
    self.assertEqual(got, set(_PATHS[:paths]))

  @parameterized.parameters(-1, 5)
  def test_more_stages_than_there_are(self, count):
    with self.assertRaisesRegex(
      ValueError, f"x: got {count} stages to freeze, expected 0 to 4, of which"
    ):
      stages.first("x", _PATTERNS, _PATHS, count)

  def test_a_family_that_names_none(self):
    with self.assertRaisesRegex(ValueError, "alexnet does not say what its"):
      models.get("alexnet").frozen_paths(stages=1)
    self.assertEmpty(models.get("alexnet").frozen_paths())

  @parameterized.parameters("digits_cnn", "resnet18", "tiny_r3d")
  def test_networks(self, name):
    model = models.get(name)
    check(self, model)
    frozen = model.frozen_paths(stages=2)
    first = {"digits_cnn": "conv2", "resnet18": "layer1", "tiny_r3d": "block1"}
    self.assertIn(first[name], {path[0] for path in frozen})
    self.assertNotIn(("bn1", "mean"), frozen)

  def test_the_last_norm_is_no_stem(self):
    check(self, models.get("mvit_v1_b"))

  def test_decay_spares_norms_and_biases(self):
    paths = models.get("resnet18").decayed_paths()
    self.assertEqual({path[-1] for path in paths}, {"kernel"})
    self.assertLen(paths, 21)  # twenty convolutions, a linear layer


def check(test, model) -> None:
  """The sets of a network with stages are sound and grow by the stage.

  Args:
    test: whose assertions are used.
    model: with stages.
  """
  parameters = set(model.shapes()) - model.statistics()
  parts = stages.of(model.family.stages, parameters)
  before, count = frozenset(), len(parts)
  test.assertGreater(count, 2)
  # In the order in which the network is built, none among another's.
  place = {path: i for i, path in enumerate(model.shapes())}
  ends = [
    (min(places), max(places))
    for places in ([place[path] for path in part] for part in parts)
  ]
  for (_, last), (start, _) in itertools.pairwise(ends):
    test.assertLess(last, start)
  for n in range(1, count + 1):
    frozen = model.frozen_paths(stages=n)
    test.assertLess(before, frozen)
    before = frozen
  test.assertLess(before, parameters)
  test.assertIn(next(iter(model.shapes())), model.frozen_paths(stages=1))
  # The head is what differs where there are other classes.
  other = models.get(model.name, num_classes=7).shapes()
  head = {p for p, shape in model.shapes().items() if other[p] != shape}
  test.assertEmpty(head & before)
  test.assertLess(model.decayed_paths(), parameters)
