"""Fetched once, whole, and compared with its sha256 at every read."""

import hashlib
import os
import pathlib
import threading
import time
from unittest import mock

from absl.testing import parameterized

from models.convert.sources import cache
from robust_tfds import errors
from robust_tfds.storage import cache as cache_folder

_DATA = b"weights" * 1000
_DIGEST = hashlib.sha256(_DATA).hexdigest()


class CacheTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)
    self.enter_context(
      mock.patch.dict(os.environ, {cache_folder.VARIABLE: str(self.folder)})
    )
    self.path = cache.place("web", "net.npz")
    self.fetched = 0

  def _fetch(self, part: pathlib.Path) -> None:
    self.fetched += 1
    part.write_bytes(_DATA)

  def _kept(self, sha256=_DIGEST, fetch=None):
    return cache.get(self.path, "a place", sha256, fetch or self._fetch)

  @parameterized.parameters(64, 8, 0)
  def test_fetched_once_compared_each_time(self, digits):
    for _ in range(2):
      self.assertEqual(self._kept(_DIGEST[:digits]).read_bytes(), _DATA)
    self.assertEqual(self.fetched, 1)
    self.path.write_bytes(_DATA[:-1] + b"X")
    with self.assertRaisesRegex(
      errors.UserError, f"net.npz: has sha256 .*expected {_DIGEST[:8]}.*Remove"
    ):
      self._kept(_DIGEST[:digits])

  def test_another_file_is_not_kept(self):
    with self.assertRaisesRegex(
      errors.UserError, f"a place: got a file of sha256 {_DIGEST}, expected 00"
    ):
      self._kept("0" * 64)
    self.assertFalse(self.path.exists())
    self.assertEmpty(list(self.folder.rglob("*.part")))

  def test_what_an_earlier_start_left_is_not_trusted(self):
    part = self.path.with_name("net.npz.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(b"other bytes ")

    def continues(place):
      with place.open("ab") as out:
        out.write(_DATA)

    self.assertEqual(self._kept(fetch=continues).read_bytes(), _DATA)

  def test_offline_says_which_file_which_hash_and_where_to_put_it(self):
    def offline(part):
      raise errors.UserError("a place: cannot be fetched.")

    with self.assertRaises(errors.UserError) as caught:
      self._kept(fetch=offline)
    self.assertIn(f"sha256 {_DIGEST}", str(caught.exception))
    self.assertIn(f"put it at {self.path}", str(caught.exception))
    self.path.write_bytes(_DATA)  # as the message says
    self.assertEqual(self._kept(fetch=offline), self.path)

  def test_two_at_once_fetch_once(self):
    def slowly(part):
      time.sleep(0.1)
      self._fetch(part)

    threads = [
      threading.Thread(target=self._kept, kwargs={"fetch": slowly})
      for _ in range(3)
    ]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join()
    self.assertEqual(self.fetched, 1)

  @parameterized.parameters("..", "a/b", "", ".hidden", "a\0b", "a" * 300)
  def test_names_that_could_leave_the_folder(self, name):
    with self.assertRaisesRegex(errors.UserError, "name of a file to keep"):
      cache.place("web", name)

  def test_a_folder_that_cannot_be_written(self):
    (self.folder / "checkpoints").write_text("a file")
    with self.assertRaisesRegex(errors.UserError, "ROBUST_TFDS_CACHE"):
      self._kept()
