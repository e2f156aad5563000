"""Every array once, in its place, whatever the file calls it; refusals."""

import warnings

import numpy as np
from absl.testing import absltest, parameterized

from robust_tfds import models
from robust_tfds.models.convert import match
from tests.models.convert import checkpoints


class StyleTest(checkpoints.Case):
  def test_old_densenet_names(self):
    flat = checkpoints.drawn("densenet121")
    arrays = {}
    for name, array in checkpoints.as_torch(flat).items():
      if "denselayer" in name:
        name = name.replace("norm1", "norm.1").replace("norm2", "norm.2")
        name = name.replace("conv1", "conv.1").replace("conv2", "conv.2")
      arrays[name] = array
    loaded = match.load("densenet121", self.npz(arrays))
    self.assertEqual(loaded.style, "torchvision")
    self.same(loaded.variables, flat)

  def test_warns_when_pictures_would_be_prepared_otherwise(self):
    flat = checkpoints.drawn("squeezenet1_1_torchvision")
    arrays = {}
    places = {2: 3, 3: 4, 4: 6, 5: 7, 6: 9, 7: 10, 8: 11, 9: 12}
    for name, array in checkpoints.as_torch(flat).items():
      name = name.replace("conv10.", "classifier.1.")
      name = name.replace("conv1.", "features.0.")
      name = name.replace("squeeze1x1", "squeeze")
      for fire, place in places.items():
        name = name.replace(f"fire{fire}.", f"features.{place}.")
      arrays[name] = array
    path = self.npz(arrays)
    with self.assertWarnsRegex(
      UserWarning, "Load it into squeezenet1_1_torchvision"
    ):
      self.same(models.convert.load("squeezenet1_1", path), flat)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self.same(models.convert.load("squeezenet1_1_torchvision", path), flat)


class RefusalTest(checkpoints.Case):
  def test_unknown_name_and_format(self):
    path = self.folder / "weights.h5"
    path.write_bytes(b"x")
    with self.assertRaisesRegex(ValueError, "expected one of .npz"):
      models.convert.load("resnet18", path)
    with self.assertRaisesRegex(ValueError, "Did you mean 'resnet18'"):
      models.convert.load("resnet_18", path)

  def test_another_depth_names_the_first_difference(self):
    path = self.npz(checkpoints.as_torch(checkpoints.drawn("resnet18")))
    with self.assertRaisesRegex(
      ValueError,
      r"another architecture than resnet50: the first array that differs is"
      r" layer1\.0\.conv1\.weight, got \(64, 64, 3, 3\), expected"
      r" \(64, 64, 1, 1\)",
    ):
      models.convert.load("resnet50", path)

  def test_another_family_names_both_arrays(self):
    path = self.npz(checkpoints.as_torch(checkpoints.drawn("squeezenet1_1")))
    with self.assertRaisesRegex(
      ValueError, r"another architecture than densenet121.*\(64, 3, 7, 7\)"
    ):
      models.convert.load("densenet121", path)

  def test_leftovers_and_gaps_are_named(self):
    arrays = checkpoints.as_torch(checkpoints.drawn("digits_cnn"))
    with self.assertRaisesRegex(
      ValueError, r"1 arrays are left over: tail\.bias \(3,\)"
    ):
      extra = {**arrays, "tail.bias": np.zeros(3)}
      models.convert.load("digits_cnn", self.npz(extra))
    del arrays["head.bias"]
    with self.assertRaisesRegex(
      ValueError, "1 arrays are not in the file: head.bias"
    ):
      models.convert.load("digits_cnn", self.npz(arrays))

  def test_an_array_twice(self):
    arrays = checkpoints.as_torch(checkpoints.drawn("digits_cnn"))
    arrays["module.head.bias"] = arrays["head.bias"]
    with self.assertRaisesRegex(ValueError, "both are head/bias"):
      models.convert.load("digits_cnn", self.npz(arrays))

  @parameterized.parameters(np.nan, np.inf)
  def test_values_that_are_no_numbers(self, value):
    arrays = checkpoints.as_torch(checkpoints.drawn("digits_cnn"))
    arrays["conv2.weight"][0, 0, 0, 0] = value
    with self.assertRaisesRegex(
      ValueError, "conv2.weight has 1 values that are NaN or infinite"
    ):
      models.convert.load("digits_cnn", self.npz(arrays))

  def test_another_class_count(self):
    flat = checkpoints.drawn("digits_linear")
    flat["head", "kernel"] = np.ones((3072, 4), np.float32)
    flat["head", "bias"] = np.ones(4, np.float32)
    path = self.npz({"/".join(p): a for p, a in flat.items()})
    got = models.convert.load("digits_linear", path, num_classes=4)
    self.same(got, flat)
    with self.assertRaisesRegex(ValueError, "has 4 classes.*has 10.*num_clas"):
      models.convert.load("digits_linear", path)


if __name__ == "__main__":
  absltest.main()
