"""The sources of checkpoints: a path, or a public name.

| text | is |
|---|---|
| a path of etils.epath | a file or folder, also in a bucket |
| `https://…/FILE#sha256=DIGITS` | a file of the web; its sha256 has to be said |
| `hf:OWNER/REPO[@REVISION][:FILE]`, or `hub:…` | a repository of the Hugging Face hub |
| `timm:NAME.TAG` | timm's repository of that name there |
| `torchvision:ResNet50_Weights.IMAGENET1K_V2` | torchvision's file |
| `package:MODULE[:FILE]` | the weights in an installed package |

Fetched files are kept in a cache (`cache`) and compared with their sha256 each
time they are read.
"""

import dataclasses
import os
import re
from collections.abc import Callable

from absl import logging
from etils import epath

from models.convert import formats, known, sidecar
from models.convert.sidecar import Declared, network
from models.convert.sources import (
  download,
  hub,
  package,
  torchvision,
  web,
)
from robust_tfds import errors

# Start of the text -> function that returns the file on this machine.
_PACKAGE = "package"  # an installed package
_HF = "hf"  # or `hub`
_SOURCES: dict[str, Callable[[str], str]] = {
  "https": web.fetch,
  "http": web.fetch,  # of tests on this machine alone: `download`
  _HF: hub.fetch,
  "timm": hub.fetch_timm,
  "torchvision": torchvision.fetch,
  _PACKAGE: package.find,
}
_WEB = ("https", "http")
_NAMED = re.compile(r"\w{2,}:[^/\\]")  # no drive's path, and no bucket's
_HUBS = (_HF, "timm")
_VERIFIED = "torchvision"  # checked against the table's digits at every read


@dataclasses.dataclass(frozen=True)
class Located:
  """A checkpoint that can be opened.

  Attributes:
    path: path of the file or folder; on this machine unless it was named as a
      path.
    name: its name in errors and reports, without passwords.
    alone: whether files beside it can belong to no other checkpoint; else their
      names decide.
    verified: whether its sha256 was compared with the known one of the name.
  """

  path: epath.Path
  name: str
  alone: bool = False
  verified: bool = False

  def declared(self) -> Declared:
    """Return what its source, or files beside it, state about its preprocessing.

    Raises:
      UserError: a file beside it is no JSON object.
    """
    declared = sidecar.declared(self.path, alone=self.alone)
    if declared.fields or declared.doubt:
      return declared
    row = known.named(self.name)
    if row is None:
      row = known.find_file(self.path)
    elif not self.verified and not known.is_of(row, self.path):
      return declared  # of another version of the package
    if row is not None:
      facts = {network.MODELS: row.models}
      return Declared(row.spec_fields, row.name, network=facts)
    named = network.timm_facts(self.name)
    if named and not declared.network:
      return Declared(origin=self.name, network=named)
    return declared


def locate(checkpoint: str | os.PathLike[str] | Located) -> Located:
  """Locate the checkpoint of a text, fetching it if necessary.

  Raises:
    FileNotFoundError: the path does not exist.
    UserError: the name is malformed, no source has it, the sha256 differs, there
      is no connection, or a package is not installed; the message says what to do.
  """
  if isinstance(checkpoint, Located):
    return checkpoint
  scheme = _scheme(checkpoint)
  if not scheme:
    _check_path(checkpoint)
    return Located(formats.existing(checkpoint), str(checkpoint))
  text = f"{scheme}:{str(checkpoint).partition(':')[2]}"  # `hub:` is `hf:`
  _say_licence(text)
  name = download.redacted(text) if scheme in _WEB else text
  path = epath.Path(_SOURCES[scheme](text))
  return Located(path, name, scheme in _HUBS, scheme == _VERIFIED)


def _check_path(checkpoint: str | os.PathLike[str]) -> None:
  """Refuse `NAME:…` that is no file and whose name is no source, as `hubb:…`."""
  text = str(checkpoint)
  if _NAMED.match(text) and not os.path.exists(text):
    known_names = [n for n in _SOURCES if n != "http"]
    name = text.partition(":")[0]
    raise errors.unknown_error("source of checkpoints", name, known_names)


def _say_licence(text: str) -> None:
  """Warn of a known checkpoint whose licence allows non-commercial use alone."""
  named = ":".join(text.partition("@")[0].split(":")[:2])  # without a file
  row = known.named(named)
  if row and row.is_non_commercial:
    logging.warning(
      "%s: its licence, %s, allows non-commercial use alone.",
      row.name,
      row.licence,
    )


def is_fetched(checkpoint: str | os.PathLike[str]) -> bool:
  """Return whether a text names a checkpoint of the network, cached here or not."""
  return _scheme(checkpoint) not in ("", _PACKAGE)


def _scheme(checkpoint: str | os.PathLike[str]) -> str:
  """Return the name of the source; '' if the text is a path."""
  text = checkpoint if isinstance(checkpoint, str) else ""
  scheme, colon, rest = text.partition(":")
  scheme = _HF if scheme == "hub" else scheme
  if not colon or scheme not in _SOURCES:
    return ""
  # `hf://…` is a bucket's address, which etils.epath opens.
  return "" if rest.startswith("//") and scheme not in _WEB else scheme
