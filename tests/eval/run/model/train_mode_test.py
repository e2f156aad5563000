"""How a model leaves train mode, in the words of its framework."""

import types

from absl.testing import parameterized
from flax import linen, nnx

from eval.run.model import train_mode


def _of(package):
  """A class as that package would define it."""
  return types.new_class("Net", (), {}, lambda d: d.update(__module__=package))


class TrainModeTest(parameterized.TestCase):
  @parameterized.parameters(
    ("torch.nn.modules.module", r"Call `net.eval\(\)`"),
    ("keras.src.models.model", "training=False"),
    ("tensorflow.python.module", "training=False"),
    ("torchlike", r"torch: `net.eval\(\)`; nnx: `module.eval\(\)`; Keras"),
  )
  def test_by_the_package(self, package, words):
    kind = type("Theirs", (_of(package),), {})
    net = kind()

    def inner(x):
      return net, x

    for code in (kind, net, inner, lambda x: inner(x)):
      self.assertRegex(train_mode.remedy(code), f"{words}.*\\.$")

  def test_flax(self):
    self.assertIn("`module.eval()`", train_mode.remedy(nnx.Linear))
    self.assertIn("`train=False`", train_mode.remedy(linen.Dense(3)))
    self.assertIn("`train=False`", train_mode.remedy(linen.Dense(3).apply))

  def test_a_name_without_a_value(self):
    self.assertIn("Keras", train_mode.remedy(lambda x: later(x)))
    if train_mode is None:
      later = len
