"""Unique short names for addresses and files: letters, digits and `-`."""

import re
import unicodedata

_LONGEST = 60
# Names that Windows keeps for devices, with any ending.
_DEVICE = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]")


class Slugs:
  """A maker of names that are unique without regard to case."""

  def __init__(self) -> None:
    """Create it without names."""
    self._taken: set[str] = set()

  def unique(self, text: str) -> str:
    """Return a name that was not returned before.

    >>> slugs = Slugs()
    >>> texts = "ResNet-50 (a/b)", "resnet 50: a b", "<>"
    >>> [slugs.unique(text) for text in texts]
    ['resnet-50-a-b', 'resnet-50-a-b-2', 'x']
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore")
    slug = re.sub(r"[^a-z0-9]+", "-", plain.decode().lower()).strip("-")
    slug = slug[:_LONGEST].strip("-") or "x"
    name, number = slug, 1
    while name in self._taken or _DEVICE.fullmatch(name):
      number += 1
      name = f"{slug}-{number}"
    self._taken.add(name)
    return name
