"""Hashes of prepared sets: of their bytes, and each file read once."""

import functools
import os
import types
from unittest import mock

from eval.pipeline import inputs
from eval.run.execution import contents
from robust_tfds.storage import paths as paths_lib
from tests import in_folder


def _source(*paths):
  split = types.SimpleNamespace(filepaths=list(paths))
  info = types.SimpleNamespace(splits={"test": split})
  builder = types.SimpleNamespace(info=info)
  source = types.SimpleNamespace(builder=builder, split="test")
  source.content = functools.partial(inputs.Source.content, source)
  return source


class ContentsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.note = self.root / "contents.json"
    self.files = [self.root / name for name in ("a", "b")]
    for i, path in enumerate(self.files):
      path.write_bytes(bytes([i]) * 9)

  def _sha256(self, *paths) -> str:
    return contents.Contents(self.note).sha256(_source(*paths))

  def test_every_byte_and_the_order_matter(self):
    first = self._sha256(*self.files)
    self.assertEqual(first, self._sha256(*self.files))
    self.assertNotEqual(first, self._sha256(*reversed(self.files)))
    self.files[1].write_bytes(b"\x01" * 8 + b"\x02")
    self.assertNotEqual(first, self._sha256(*self.files))

  def test_an_unchanged_file_is_read_once(self):
    known = contents.Contents(self.note)
    first = known.sha256(_source(*self.files))
    known.save()
    with mock.patch.object(paths_lib, "sha256") as never:
      self.assertEqual(self._sha256(*self.files), first)
    never.assert_not_called()

  def test_a_changed_file_is_read_again(self):
    known = contents.Contents(self.note)
    first = known.sha256(_source(*self.files))
    known.save()
    self.files[0].write_bytes(b"\x07" * 9)  # of the same size
    os.utime(self.files[0], ns=(1, 1))
    self.assertNotEqual(self._sha256(*self.files), first)

  def test_a_broken_note_costs_time_alone(self):
    known = contents.Contents(self.note)
    first = known.sha256(_source(*self.files))
    known.save()
    whole = self.note.read_text()
    for text in ("[", "{}", whole.replace("9", "8", 1), whole[:-9], ""):
      self.note.write_text(text)
      self.assertEqual(self._sha256(*self.files), first)
