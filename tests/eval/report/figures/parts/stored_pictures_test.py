"""Pictures of reports: copied as pixels, refused where there are none."""

import pathlib

import numpy as np
from absl.testing import absltest
from PIL import Image

from robust_tfds import errors
from robust_tfds.eval.report import figures
from tests.eval.report.figures import boards


class StoredPicturesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.run_folder = pathlib.Path(self.create_tempdir().full_path)
    (self.run_folder / "reports").mkdir()
    (self.figure,) = figures.select("shankar_f1")

  def draw(self):
    request = boards.request("frames", self.run_folder)
    return self.figure.draw(request, self.folder)

  def test_pixels_are_those_of_the_report(self):
    pixels = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    place = self.run_folder / "reports" / "natural_gallery.png"
    Image.fromarray(pixels).save(place)
    picture, _ = self.draw()
    np.testing.assert_array_equal(np.asarray(Image.open(picture)), pixels)

  def test_without_reports(self):
    with self.assertRaisesRegex(errors.UserError, "config.reports=true"):
      self.draw()
    self.assertEmpty(list(self.folder.iterdir()))

  def test_what_is_no_picture_is_refused(self):
    place = self.run_folder / "reports" / "natural_gallery.png"
    place.write_bytes(b"no picture")
    with self.assertRaisesRegex(errors.UserError, "natural_gallery.png"):
      self.draw()
