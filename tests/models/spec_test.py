"""What specs say and refuse."""

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import models
from robust_tfds.models.detection.spec import DetectorSpec
from robust_tfds.models.spec import Spec
from robust_tfds.models.video.spec import VideoSpec


class SpecTest(parameterized.TestCase):
  def test_refuses_what_cannot_be(self):
    with self.assertRaisesRegex(ValueError, "crop must lie inside"):
      Spec(input_px=299, resize_px=256)
    with self.assertRaisesRegex(ValueError, "expected one of"):
      Spec(resize="stretch")
    with self.assertRaisesRegex(ValueError, "expected one of"):
      Spec(channel_order="gbr")
    with self.assertRaisesRegex(ValueError, "expected one of"):
      DetectorSpec(channel_order="gbr")

  @parameterized.parameters(
    (Spec(), "short256_crop224"),
    (
      Spec(resize="squash", interpolation="bicubic"),
      "squash256_crop224_bicubic",
    ),
    (Spec(resize="fraction", crop_fraction=0.875), "fraction0.875_224"),
    (VideoSpec(), "short256_crop224"),
  )
  def test_geometry_is_a_name_of_the_datasets(self, spec, name):
    self.assertEqual(spec.geometry, name)

  def test_detectors_have_no_geometry(self):
    with self.assertRaisesRegex(ValueError, "kind detection resizes its pic"):
      _ = DetectorSpec().geometry

  def test_shapes_of_inputs(self):
    for spec, frames, axes, shape in (
      (Spec(), 0, 3, (2, 64, 64, 3)),
      (Spec(flexible=False), 0, 3, (2, 224, 224, 3)),
      (VideoSpec(frames=5), 5, 4, (2, 5, 224, 224, 3)),
      (DetectorSpec(), 0, 3, (2, 64, 64, 3)),
    ):
      self.assertEqual(spec.clip_frames, frames)
      self.assertEqual(spec.item_axes, axes)
      self.assertEqual(spec.batch_shape(2, 64), shape)

  def test_normalization(self):
    spec = DetectorSpec(
      channel_order="bgr", scale=1.0, mean=(1, 2, 3), std=(2,) * 3
    )
    pixels = np.full((1, 1, 1, 3), (30, 20, 10), np.uint8)
    got = spec.normalize(pixels)[0, 0, 0]
    np.testing.assert_allclose(got, [4.5, 9.0, 13.5])

  def test_every_spec_knows_its_preprocessing(self):
    for name in models.names():
      spec = models.get(name).spec
      self.assertTrue(spec.weights, name)
      if spec.kind != "detection":
        self.assertIn("_crop", spec.geometry, name)


if __name__ == "__main__":
  absltest.main()
