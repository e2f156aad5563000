"""How a folder of pictures is worked on: few are held at a time."""

import pathlib
from unittest import mock

import numpy as np
from absl.testing import parameterized
from PIL import Image

from robust_tfds import corrupt_folder, errors, folder_work, stopping


class FolderWorkTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    base = pathlib.Path(self.create_tempdir().full_path)
    self.source, self.target = base / "in", base / "out"
    self.source.mkdir()

  def _run(self, **options):
    options = {"names": ["contrast"], "severities": [2], **options}
    return corrupt_folder.run(self.source, self.target, quiet=True, **options)

  def test_few_pictures_are_held(self):
    for i in range(60):
      Image.new("RGB", (40, 33)).save(self.source / f"{i:02}.png")
    read, alive = folder_work.read, []

    def counted(path, **options):
      saved = len(list(self.target.rglob("*.png")))
      alive.append(len(alive) + 1 - saved)
      return read(path, **options)

    with mock.patch.object(folder_work, "read", counted):
      self.assertEqual(self._run(workers=2), (60, []))
    # Two ahead, eight results that wait for being written, those in the hands
    # of threads; not sixty.
    self.assertLess(max(alive), 20)

  @parameterized.parameters(1, 50)
  def test_results_wait_by_their_bytes_too(self, limit):
    for i in range(9):
      Image.new("RGB", (40, 33)).save(self.source / f"{i}.png")
    with mock.patch.object(folder_work, "_WAITING_BYTES", limit):
      self.assertEqual(self._run(severities=[1, 2]), (18, []))

  def test_who_stops_it_is_told_what_there_is(self):
    for i in range(3):
      Image.new("RGB", (40, 33)).save(self.source / f"{i}.png")
    self._run(severities=[1])
    results = [np.zeros((33, 40, 3), np.uint8), KeyboardInterrupt]
    with (
      mock.patch.object(stopping, "_told", []) as told,
      mock.patch(
        "robust_tfds.corruptions.image.corrupt_in_canvas", side_effect=results
      ),
      self.assertRaises(KeyboardInterrupt),
    ):
      self._run(severities=[1, 2])
    (said,) = [words() for words in told]
    # What waits to be written is given up.
    self.assertRegex(said, "^[34] of 6 files of 3 pictures kept$")
    rest = 6 - int(said[0])
    self.assertEqual(self._run(severities=[1, 2]), (rest, []))

  def test_a_result_that_its_format_cannot_hold_is_named(self):
    Image.new("RGB", (40, 33)).save(self.source / "x.png")
    with mock.patch.object(
      folder_work, "_encoded", side_effect=ValueError("too large")
    ):
      written, failed = self._run()
    self.assertEqual(written, 0)
    self.assertRegex(failed[0], "x.png: cannot be stored as png: too large")

  def test_too_little_memory_is_said_of_the_picture(self):
    Image.new("RGB", (40, 33)).save(self.source / "x.png")
    with mock.patch(
      "robust_tfds.corruptions.image.corrupt_in_canvas",
      side_effect=MemoryError(),
    ):
      _, failed = self._run()
    self.assertRegex(failed[0], "x.png: contrast of 40 x 33 px needs more mem")

  def test_transparency_of_16_bit_grey(self):
    values = np.zeros((3, 4), np.uint16)
    Image.fromarray(values).save(self.source / "x.png", transparency=0)
    with self.assertRaisesRegex(errors.UserError, "x.png: has transparency"):
      folder_work.read(self.source / "x.png")
