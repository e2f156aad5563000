"""Frame sets: configs, and sets that are refused."""

import dataclasses
import io
from unittest import mock

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds.building import frames
from robust_tfds.datasets.imagenet_vid_robust import (
  imagenet_vid_robust_dataset_builder as vid_builder,
)
from tests import shared_data


class ConfigsTest(parameterized.TestCase):
  def test_names(self):
    config_of = vid_builder.Builder.config_of
    self.assertEqual(config_of("clean").name, "reviewed")
    self.assertEqual(config_of("all", geometry="imagenet").name, "all_imagenet")
    made = config_of("clean", codec="raw", geometry="short256_crop224_bicubic")
    self.assertEqual(made.name, "reviewed_short256_crop224_bicubic")
    self.assertEqual(made.variant, "")

  @parameterized.parameters(
    ({"name": "reviewd"}, "Did you mean 'reviewed'"),
    ({"name": "all", "codec": "jpeg85"}, "Unknown codec 'jpeg85'"),
    ({"name": "all", "geometry": "crop"}, "Unknown geometry"),
  )
  def test_refuses(self, options, message):
    with self.assertRaisesRegex(ValueError, message):
      vid_builder.Builder.config_of(**options)


class CheckTest(parameterized.TestCase):
  def _frame(self, name, offset, labels=(0,), group="a"):
    return frames.Frame(
      example_id=name, group_id=group, frame=offset, labels=labels
    )

  @parameterized.named_parameters(
    ("nothing", [], "no anchor sets"),
    ("no_anchor", [("b", 1)], "set of a lacks its anchor"),
    ("far", [("a", 0), ("b", 11)], r"b is \+11 frames from its anchor a"),
    ("label", [("a", 0, ())], "a has no label"),
    ("twice", [("a", 0), ("a", 1)], "a occurs twice"),
    ("offset", [("a", 0), ("b", 1), ("c", 1)], "c occurs twice"),
  )
  def test_refuses(self, rows, message):
    with self.assertRaisesRegex(ValueError, message):
      frames.check([self._frame(*row) for row in rows])

  def test_whole_frames_are_stored_as_tfds_can_decode_them(self):
    palette = Image.new("RGB", (4, 3), (200, 10, 10)).convert("P")
    files = []
    for picture, kind in (
      (palette, "PNG"),
      (Image.new("L", (4, 3), 7), "PNG"),
      (Image.new("CMYK", (4, 3), (0, 9, 99, 0)), "JPEG"),
    ):
      out = io.BytesIO()
      picture.save(out, kind)
      files.append(out.getvalue())
    sources = [
      dataclasses.replace(
        self._frame(str(i), 0), picture=mock.Mock(data=lambda data=data: data)
      )
      for i, data in enumerate(files)
    ]
    rows = frames.encode_chunk(sources, rule=frames.WHOLE)
    self.assertEqual([r.data == f for r, f in zip(rows, files)], [0, 1, 0])
    for row, data in zip(rows, files):
      stored = np.asarray(Image.open(io.BytesIO(row.data)))
      shown = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
      if stored.ndim == 2:
        stored = np.repeat(stored[..., None], 3, axis=-1)
      np.testing.assert_array_equal(stored, shown)

  def test_distances_are_the_goldens(self):
    with np.load(shared_data.golden("video", "linf_frames.npz")) as data:
      got = [frames.linf(*pair) for pair in zip(data["a"], data["b"])]
      np.testing.assert_allclose(got, data["linf"], atol=1e-12)
