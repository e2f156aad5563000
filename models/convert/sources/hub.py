"""`hf:OWNER/REPO[@REVISION][:FILE]` and `timm:NAME.TAG`: the Hugging Face hub.

`huggingface_hub` fetches the checkpoint and the small files that state its
preprocessing. The checkpoint is FILE, else the first file in
`formats.hub_order` (safetensors before torch's pickles, of which only arrays
are read), else the only file with the ending of a checkpoint. A revision that
is no commit can move: its commit is reported, and `@COMMIT` pins it.
`HF_ENDPOINT` is another address of the hub, `HF_TOKEN` is sent with each
request to it and never printed.
"""

import dataclasses
import os
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from absl import logging

from models.convert import formats, known, sidecar
from models.convert.sources import download
from robust_tfds import errors
from robust_tfds.storage import paths

ENDPOINT, TOKEN = "HF_ENDPOINT", "HF_TOKEN"
_HUB = "https://huggingface.co"
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}"
_NAME = re.compile(rf"hf:({_PART}/{_PART})(?:@([\w./-]+))?(?::(.+))?")
_TIMM = re.compile(rf"timm:({_PART})")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAIN = "main"
_SMALL = (sidecar.CONFIG, sidecar.PROCESSOR)
_LISTED = 8  # files that a refusal names


@dataclasses.dataclass(frozen=True)
class Repository:
  """A repository, revision and file on the hub.

  Attributes:
    name: `OWNER/REPO`.
    revision: a branch, a tag or a commit.
    file: file of the repository; '' for its checkpoint.
    text: the text that the user wrote.
  """

  name: str
  revision: str
  file: str
  text: str


def parse(text: str) -> Repository:
  """Return the repository of `hf:OWNER/REPO[@REVISION][:FILE]`.

  Raises:
    UserError: it does not have that form.
  """
  match = _NAME.fullmatch(text)
  file = match[3] or "" if match else ""
  if match is None or not _is_inside(file):
    raise errors.UserError(
      f"{text}: expected hf:OWNER/REPOSITORY, with @REVISION (a commit holds it"
      " for ever) and :FILE if need be."
    )
  return Repository(match[1], match[2] or _MAIN, file, text)


def parse_timm(text: str) -> Repository:
  """Return the repository of `timm:NAME.TAG`.

  Raises:
    UserError: it does not have that form; the message suggests similar names.
  """
  match = _TIMM.fullmatch(text)
  if match is None or "." not in match[1]:
    start = text.partition(".")[0]
    near = [k.name for k in known.every() if k.name.startswith(f"{start}.")]
    raise errors.UserError(
      f"{text}: expected timm:NAME.TAG, as timm's pretrained models are called"
      f"{', e.g. ' * bool(near)}{', '.join(near[:_LISTED])}."
    )
  return Repository(f"timm/{match[1]}", _MAIN, "", text)


def fetch(text: str) -> str:
  """Fetch the checkpoint of an `hf:` name to this machine.

  Raises:
    MissingPackageError: huggingface_hub is not installed.
    UserError: as for `parse`; or it cannot be fetched, or the repository holds
      no checkpoint, or several and none is named.
  """
  return str(_fetch(parse(text)))


def fetch_timm(text: str) -> str:
  """Fetch the checkpoint of a `timm:` name to this machine; as `fetch`."""
  return str(_fetch(parse_timm(text)))


def _fetch(repository: Repository) -> pathlib.Path:
  try:
    import huggingface_hub as hub
  except ImportError as error:
    raise errors.missing_package_error(
      "huggingface_hub", "hub", repository.text
    ) from error
  endpoint = (os.environ.get(ENDPOINT) or _HUB).rstrip("/")
  download.check_address(endpoint)
  client: Any = hub.HfApi(endpoint, token=os.environ.get(TOKEN))
  place = {
    "repo_id": repository.name,
    "revision": repository.revision,
    "cache_dir": str(download.folder() / "hub"),
  }

  def get(file: str) -> pathlib.Path:
    path = pathlib.Path(client.hf_hub_download(filename=file, **place))
    # The hub's cache names the content of a large file by its sha256.
    content = path.resolve()
    if _SHA256.fullmatch(content.name):
      download.check(content, content.name)
    return path

  try:
    files = _listing(client, place, repository)
    chosen = _choose(repository, files)
    checkpoint = get(chosen)
    more = [name for name in _SMALL if name in files and "/" not in chosen]
    if chosen.endswith(formats.INDEX):
      more += formats.shard_names(checkpoint)
    for name in more:
      get(name)
  except errors.UserError:
    raise
  except Exception as error:  # from the hub's client or a package below it
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    raise errors.UserError(
      f"{repository.text}: {reason} A repository with limited access needs"
      f" {TOKEN} in the environment. Without a connection: fetch its checkpoint"
      f" and {' and '.join(_SMALL)} elsewhere into one folder, and give that"
      " folder's path: checkpoint=FOLDER, of commands"
      " --config.model.checkpoint=FOLDER."
    ) from error
  return checkpoint


def _listing(
  client: Any, place: Mapping[str, str], repository: Repository
) -> list[str]:
  """Return the files of a repository; if the hub cannot be asked, those that
  were fetched before.
  """
  try:
    info = client.model_info(repository.name, revision=repository.revision)
  except Exception:
    try:
      folder = client.snapshot_download(**place, local_files_only=True)
    except Exception:
      folder = None
    if folder is None:
      raise
    logging.warning(
      "%s: the hub cannot be asked; takes what was fetched before: %s.",
      repository.text,
      folder,
    )
    return [below for below, _ in paths.files_below(folder)]
  if repository.revision != info.sha:
    logging.info(
      "%s is commit %s now; hf:%s@%s holds it.",
      repository.text,
      info.sha,
      repository.name,
      info.sha,
    )
  return [entry.rfilename for entry in info.siblings or ()]


def _choose(repository: Repository, files: Iterable[str]) -> str:
  """Return the file of a repository to read."""
  files = [file for file in files if _is_inside(file)]
  if repository.file:
    if repository.file not in files:
      raise errors.unknown_error(
        f"file of {repository.text}", repository.file, files
      )
    return repository.file
  ordered = formats.hub_order(files)
  if ordered:
    return ordered[0]
  weights = [f for f in files if f.lower().endswith(formats.ENDINGS)]
  if len(weights) == 1:
    return weights[0]
  listed = ", ".join(weights[:_LISTED]) or "none"
  raise errors.UserError(
    f"{repository.text}: the repository holds {len(weights)} files of weights"
    f" ({listed}), expected one. Name the file: {repository.text}:FILE."
  )


def _is_inside(file: str) -> bool:
  return ".." not in file.split("/") and not file.startswith("/")
