"""Pictures of reports: copied as pixels, refused where there are none."""

import pathlib

import numpy as np
from absl.testing import absltest
from PIL import Image

from eval.report import figures
from robust_tfds import errors
from tests import shared_data
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

  def test_pictures_beside_bars(self):
    """Figure 4: a run's numbers after the printed ones, its gallery beside."""
    pixels = np.full((4, 5, 3), 7, np.uint8)
    place = self.run_folder / "reports" / "worst_frames.png"
    Image.fromarray(pixels).save(place)
    (figure,) = figures.select("shankar_f4")
    asked = boards.request("frame_detection", self.run_folder)
    _, (apart, request) = figure.parts(asked)
    picture, *_, table = apart.draw(request, self.folder)
    np.testing.assert_array_equal(np.asarray(Image.open(picture)), pixels)
    self.assertIn("_frames.png", picture.name)
    listed = shared_data.lines(pathlib.Path(table))
    metrics = {line["metric"] for line in listed}
    self.assertContainsSubset({"map_orig", "localization/map_pmk"}, metrics)
    self.assertTrue(all(line["lo"] for line in listed))

  def test_without_reports(self):
    with self.assertRaisesRegex(errors.UserError, "config.reports=true"):
      self.draw()
    self.assertEmpty(list(self.folder.iterdir()))

  def test_what_is_no_picture_is_refused(self):
    place = self.run_folder / "reports" / "natural_gallery.png"
    place.write_bytes(b"no picture")
    with self.assertRaisesRegex(errors.UserError, "natural_gallery.png"):
      self.draw()
