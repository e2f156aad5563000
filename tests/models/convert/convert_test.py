"""`models.convert.load`: variables of any kind of model, ready for `apply`."""

from absl.testing import parameterized

from robust_tfds import models
from tests.models.convert import checkpoints


class LoadTest(checkpoints.Case, parameterized.TestCase):
  @parameterized.parameters("digits_linear", "tiny_r3d", "tiny_retinanet")
  def test_every_kind_and_enhancements_change_nothing(self, name):
    flat = checkpoints.drawn(name)
    path = self.npz({"/".join(p): a for p, a in flat.items()})
    self.same(models.convert.load(name, path), flat)
    if name == "digits_linear":
      self.same(models.convert.load(f"{name}+clahe", path), flat)

  def test_nothing_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "No checkpoint at"):
      models.convert.load("digits_linear", self.folder / "none.npz")
