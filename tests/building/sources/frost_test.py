"""Where builders find the frost pictures: where all do, else by a download."""

import pathlib
from unittest import mock

from robust_tfds import missing
from robust_tfds.building.sources import frost
from robust_tfds.corruptions import frost_pictures
from robust_tfds.storage import paths
from tests import frost_folder, in_folder


class _NoManualDir:
  """TFDS's download manager where no manual dir is there."""

  def __init__(self, download):
    self.download = download

  @property
  def manual_dir(self):
    raise AssertionError("no manual dir")


class FrostTest(in_folder.TestCase):
  def _nowhere(self):
    absent = missing.MissingError(missing.Lack("frost", "Nowhere."))
    return mock.patch.object(frost_pictures, "folder", side_effect=absent)

  def test_where_all_look(self):
    installed = pathlib.Path("/installed/frost")
    manager = mock.Mock(manual_dir=self.root)
    with mock.patch.object(
      frost_pictures, "folder", return_value=installed
    ) as look:
      self.assertEqual(frost.find(manager), str(installed))
    look.assert_called_once_with(paths.of(self.root))
    manager.download.assert_not_called()

  def test_then_the_download_with_names_of_its_own(self):
    drawn = frost_folder.drawn()
    manager = _NoManualDir(lambda urls: {name: drawn / name for name in urls})
    with self._nowhere():
      folder = pathlib.Path(frost.find(manager))
    for name in frost_pictures.SHA256:
      self.assertEqual(
        (folder / name).read_bytes(), (drawn / name).read_bytes()
      )

  def test_no_network_says_what_to_do(self):
    manager = _NoManualDir(mock.Mock(side_effect=RuntimeError("offline")))
    with self._nowhere():
      with self.assertRaisesRegex(FileNotFoundError, "offline.*folder `frost`"):
        frost.find(manager)
