"""Where builders find the frost pictures: three places in turn."""

import pathlib
from unittest import mock

from robust_tfds.building.sources import frost
from robust_tfds.corruptions import frost_pictures
from tests import frost_folder, in_folder


class _NoManualDir:
  """TFDS's download manager where no manual dir is there."""

  def __init__(self, download):
    self.download = download

  @property
  def manual_dir(self):
    raise AssertionError("no manual dir")


class FrostTest(in_folder.TestCase):
  def _available(self, available: bool):
    patch = mock.patch.object(
      frost_pictures, "available", return_value=available
    )
    return patch

  def test_the_manual_dir_first(self):
    (self.root / "frost").mkdir()
    manager = mock.Mock(manual_dir=self.root)
    with self._available(True):
      self.assertEqual(frost.find(manager), str(self.root / "frost"))
    manager.download.assert_not_called()

  def test_then_what_is_there_already(self):
    installed = pathlib.Path("/installed/frost")
    manager = _NoManualDir(mock.Mock())
    with self._available(True):
      with mock.patch.object(frost_pictures, "folder", return_value=installed):
        self.assertEqual(frost.find(manager), str(installed))
    manager.download.assert_not_called()

  def test_then_the_download_with_names_of_its_own(self):
    drawn = frost_folder.drawn()
    manager = _NoManualDir(lambda urls: {name: drawn / name for name in urls})
    with self._available(False):
      folder = pathlib.Path(frost.find(manager))
    for name in frost_pictures.SHA256:
      self.assertEqual(
        (folder / name).read_bytes(), (drawn / name).read_bytes()
      )

  def test_no_network_says_what_to_do(self):
    manager = _NoManualDir(mock.Mock(side_effect=RuntimeError("offline")))
    with self._available(False):
      with self.assertRaisesRegex(FileNotFoundError, "offline.*folder `frost`"):
        frost.find(manager)
