"""What specs say and refuse."""

import numpy as np
from absl.testing import parameterized

from models.detection.spec import DetectorSpec
from models.spec import Spec
from models.video.spec import VideoSpec
from robust_tfds import errors, models
from robust_tfds.building import geometry


class SpecTest(parameterized.TestCase):
  def test_all_kinds_are_found_where_people_look(self):
    self.assertIs(models.spec.DetectorSpec, DetectorSpec)
    self.assertIs(models.spec.VideoSpec, VideoSpec)
    with self.assertRaisesRegex(AttributeError, "no attribute 'PoseSpec'"):
      models.spec.PoseSpec  # noqa: B018

  @parameterized.parameters(
    ({"mean": (0.5, 0.5)}, "Got mean .* three finite numbers, one per channel"),
    ({"mean": 0.5}, "Got mean 0.5"),
    ({"mean": "abc"}, "Got mean 'abc'"),
    ({"mean": (0.5, float("nan"), 0.5)}, "Got mean"),
    ({"std": (1, 0, 1)}, "std .1, 0, 1., expected .* a positive value"),
    ({"std": (1, -1, 1)}, "a positive value"),
    ({"scale": 0}, "Got scale 0"),
    ({"scale": float("inf")}, "Got scale"),
    ({"num_classes": 1}, "Got num_classes=1"),
    ({"num_classes": 2.5}, "Got num_classes=2.5"),
    ({"input_px": -1}, "Got input_px -1, expected a whole number of 1"),
    ({"input_px": 224.0}, "Got input_px 224.0"),
    ({"input_px": True}, "Got input_px True"),
    ({"flexible": 1}, "Got flexible 1, expected True or False"),
    ({"weights": 3}, "Got weights 3, expected a text"),
    ({"mean": (1, 2, True)}, "Got mean"),
    ({"scale": True}, "Got scale True"),
    ({"parameters": 0.5}, "Got parameters 0.5, expected .* or None"),
    ({"resize_px": "256"}, "Got resize_px '256'"),
    ({"interpolation": "nearest"}, "Got interpolation 'nearest'"),
    ({"resize": "stretch"}, "Got resize 'stretch', expected one of"),
    ({"input_px": 299, "resize_px": 256}, "crop must lie inside"),
    ({"channel_order": "gbr"}, "Got channel_order 'gbr', expected one of"),
    ({"resize": "fraction", "crop_fraction": 0}, "Got crop_fraction 0"),
    ({"resize": "fraction", "crop_fraction": 1.5}, "Got crop_fraction 1.5"),
    ({"resize": "centre_fraction", "crop_fraction": 0}, "Got crop_fraction 0"),
  )
  def test_refuses_odd_values_by_name(self, fields, words):
    with self.assertRaisesRegex(errors.UserError, words):
      Spec(**fields)

  def test_refuses_odd_values_of_other_kinds(self):
    for make, words in (
      (lambda: VideoSpec(frames=0), "Got frames 0"),
      (lambda: VideoSpec(rate=1.5), "Got rate 1.5"),
      (lambda: DetectorSpec(channel_order="gbr"), "expected one of"),
      (lambda: DetectorSpec(short_px=-1), "Got short_px -1"),
      (lambda: DetectorSpec(short_px=900, long_px=800), "below the shorter"),
      (lambda: DetectorSpec(detections=0), "Got detections 0"),
    ):
      with self.assertRaisesRegex(errors.UserError, words):
        make()

  def test_lists_and_arrays_become_tuples(self):
    spec = Spec(mean=[0, 0.5, 1], std=np.array([1.0, 2.0, 3.0]))
    self.assertEqual((spec.mean, spec.std), ((0, 0.5, 1), (1.0, 2.0, 3.0)))
    hash(spec)
    spec = Spec(input_px=np.int64(8), scale=1, flexible=np.bool_(False))
    self.assertEqual(repr((spec.input_px, spec.scale)), "(8, 1)")
    self.assertIs(spec.flexible, False)
    self.assertEqual(repr(Spec(scale=np.float32(0.5)).scale), "0.5")

  @parameterized.parameters(
    (Spec(), "short256_crop224"),
    (
      Spec(resize="squash", interpolation="bicubic"),
      "squash256_crop224_bicubic",
    ),
    (Spec(resize="fraction", crop_fraction=0.875), "fraction0.875_224"),
    (
      Spec(
        resize="centre_fraction",
        crop_fraction=240 / 272,
        input_px=240,
        interpolation="bicubic",
      ),
      "centre15of17_240_bicubic",
    ),
    (
      Spec(resize="centre_fraction", crop_fraction=0.123456789),
      "centre123456789of1000000000_224",
    ),
    (Spec(resize="centre_fraction"), "centre1of1_224"),
    (VideoSpec(), "short256_crop224"),
  )
  def test_geometry_is_a_name_of_the_datasets(self, spec, name):
    self.assertEqual(spec.geometry, name)
    self.assertEqual(geometry.shape(name), (spec.input_px, spec.input_px, 3))

  @parameterized.parameters(
    (Spec(), {"mean": [0.5, 0.5, 0.5], "interpolation": "bicubic"}),
    (Spec(), {"input_px": 288, "resize_px": 320, "weights": "timm"}),
    (VideoSpec(), {"frames": 16, "rate": 4}),
    (DetectorSpec(), {"short_px": 600, "long_px": 1000}),
  )
  def test_with_fields(self, spec, fields):
    changed = spec.with_fields(fields)
    for name, value in fields.items():
      self.assertEqual(
        getattr(changed, name),
        tuple(value) if isinstance(value, list) else value,
      )
    self.assertEqual(spec.with_fields({}), spec)
    self.assertIs(type(changed), type(spec))

  @parameterized.parameters(
    (Spec(input_px=112), "short128_crop112"),
    (Spec(input_px=32), "short37_crop32"),
    (Spec(input_px=112, resize="squash"), "squash128_crop112"),
    (VideoSpec(input_px=112), "short128_crop112"),
    (Spec(input_px=112, resize_px=256), "short256_crop112"),
    (Spec().with_fields({"input_px": 112}), "short128_crop112"),
    (Spec(resize_px=232).with_fields({"input_px": 112}), "short116_crop112"),
  )
  def test_resize_px_follows_input_px(self, spec, name):
    self.assertEqual(spec.geometry, name)

  def test_with_another_number_of_classes(self):
    spec = Spec(parameters=7, gflops=2.0).with_fields({"num_classes": 10})
    self.assertEqual((spec.num_classes, spec.label_space), (10, "custom"))
    self.assertEqual((spec.parameters, spec.gflops), (None, 2.0))

  def test_gflops_are_of_the_published_size(self):
    self.assertIsNone(Spec(gflops=2.0).with_fields({"input_px": 192}).gflops)

  @parameterized.parameters(
    (
      Spec(),
      {"meen": 1},
      "Unknown field of a Spec 'meen'. Did you mean 'mean'",
    ),
    (Spec(), {"frames": 8}, "Unknown field of a Spec 'frames'"),
    (Spec(), {"kind": "video"}, "Unknown field of a Spec 'kind'"),
    (Spec(), {"mean": "0.5"}, "Got mean '0.5', expected three finite"),
    (Spec(), {"std": (0, 1, 1)}, "a positive value per channel"),
    (Spec(), {"scale": None}, "Got scale None, expected a finite number"),
    (Spec(), {"input_px": 300, "resize_px": 256}, "Got resize_px 256, exp"),
    (Spec(flexible=False), {"input_px": 192}, "pictures of 224 px alone"),
    (Spec(flexible=False), {"flexible": True}, "Got flexible True, and this"),
    (VideoSpec(any_length=False), {"frames": 9}, "clips of 8 frames alone"),
    (DetectorSpec(), {"short_px": 2000}, "cannot be below"),
  )
  def test_fields_that_cannot_be(self, spec, fields, words):
    with self.assertRaisesRegex(errors.UserError, words):
      spec.with_fields(fields)

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
        self.assertRegex(spec.geometry, r"_crop|^centre", name)
