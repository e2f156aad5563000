"""`https://HOST/…/FILE#sha256=DIGITS`: a file of the web.

An address alone does not say which file is there tomorrow, so the sha256 has to
be stated with it.
"""

import dataclasses
import pathlib
import re
import urllib.parse

from models.convert import formats
from models.convert.sources import download
from robust_tfds import errors

_FRAGMENT = re.compile(r"sha256=([0-9a-fA-F]+)")
_DIGITS = 64
_ODD = re.compile(r"[^A-Za-z0-9._+=-]")


@dataclasses.dataclass(frozen=True)
class Address:
  """A file of the web.

  Attributes:
    address: address with user and password, without the fragment; never
      printed.
    file: name of the file.
    sha256: the 64 digits of its sha256.
  """

  address: str
  file: str
  sha256: str


def parse(text: str) -> Address:
  """Parse the address of a checkpoint.

  Raises:
    UserError: https, the sha256 or the ending of a checkpoint is missing.
  """
  try:
    address, fragment = urllib.parse.urldefrag(text)
    parts = urllib.parse.urlsplit(address)
    readable = parts.port != 0
  except ValueError:
    readable = False
  if not readable:
    raise errors.UserError(
      "The address of a checkpoint cannot be read, expected"
      " https://HOST/.../FILE#sha256=... In a"
      " user's name or password write / as %2F, # as %23 and @ as %40."
    )
  download.check_address(address)
  path = urllib.parse.unquote(parts.path)
  match = _FRAGMENT.fullmatch(fragment)
  if match is None or len(match[1]) != _DIGITS:
    raise errors.UserError(
      f"{download.redacted(address)}: expected #sha256= and 64 digits at its end, which"
      " say which file it is. Its publisher may print them; else fetch the file once"
      " by hand, see that it is the right one, and take what `sha256sum FILE`"
      " prints."
    )
  name = pathlib.PurePosixPath(path).name
  if not name.lower().endswith(formats.ENDINGS):
    raise errors.UserError(
      f"{download.redacted(address)}: got the name {name!r}, expected an"
      f" ending of {', '.join(formats.ENDINGS)}. Fetch it by hand and give it"
      " that ending."
    )
  return Address(address, _ODD.sub("_", name).lstrip("."), match[1].lower())


def fetch(text: str) -> str:
  """Fetch the file of an address to this machine.

  Raises:
    UserError: as for `parse`; or it cannot be fetched, or its sha256 differs.
  """
  named = parse(text)
  parts = ("web", named.sha256, named.file)
  return str(download.file(named.address, named.sha256, *parts))
