"""`hf:OWNER/REPO[@REVISION][:FILE]` and `timm:NAME.TAG`: the Hugging Face hub.

The hub is asked for a repository's commit and files; the checkpoint and the
small files that state its preprocessing are fetched. The checkpoint is FILE,
else the first file in `formats.hub_order` (safetensors before torch's pickles,
of which only arrays are read), else the only file with the ending of a
checkpoint. A revision that is no commit can move: its commit is reported, and
`@COMMIT` pins it. `HF_ENDPOINT` is another address of the hub, `HF_TOKEN` is
sent with each request to it and never printed.
"""

import dataclasses
import json
import os
import pathlib
import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

from absl import logging

from models.convert import formats, known, sidecar
from models.convert.sources import cache, download
from robust_tfds import errors, reading
from robust_tfds.reading import limits
from robust_tfds.storage import paths

ENDPOINT, TOKEN = "HF_ENDPOINT", "HF_TOKEN"
_HUB = "https://huggingface.co"
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}"
_NAME = re.compile(rf"hf:({_PART})/({_PART})(?:@([\w./-]+))?(?::(.+))?")
_TIMM = re.compile(rf"timm:({_PART})")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MAIN = "main"
_LISTING = "files.json"
_MOST_BYTES = 64 * limits.MIB  # of a listing: some hundred bytes a file
_SMALL = (sidecar.CONFIG, sidecar.PROCESSOR)
_LISTED = 8  # files that a refusal names


@dataclasses.dataclass(frozen=True)
class Repository:
  """A repository, revision and file on the hub.

  Attributes:
    owner: owner of the repository.
    name: name of the repository.
    revision: a branch, a tag or a commit.
    file: file of the repository; '' for its checkpoint.
    text: the text that the user wrote.
  """

  owner: str
  name: str
  revision: str
  file: str
  text: str


def parse(text: str) -> Repository:
  """Parse `hf:OWNER/REPO[@REVISION][:FILE]`.

  Raises:
    UserError: it does not have that form.

  """
  match = _NAME.fullmatch(text)
  file = match[4] or "" if match else ""
  parts = pathlib.PurePosixPath(file).parts
  if match is None or ".." in parts or file.startswith("/"):
    raise errors.UserError(
      f"{text}: expected hf:OWNER/REPOSITORY, with @REVISION (a commit holds it"
      " for ever) and :FILE if need be."
    )
  return Repository(match[1], match[2], match[3] or _MAIN, file, text)


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
  return Repository("timm", match[1], _MAIN, "", text)


def fetch(text: str) -> str:
  """Fetch the checkpoint of an `hf:` name to this machine.

  Raises:
    UserError: as for `parse`; or it cannot be fetched, or the repository holds
      no checkpoint, or several and none is named.
  """
  return str(_fetch(parse(text)))


def fetch_timm(text: str) -> str:
  """Fetch the checkpoint of a `timm:` name to this machine; as `fetch`."""
  return str(_fetch(parse_timm(text)))


def _fetch(repository: Repository) -> pathlib.Path:
  commit, digests = _listing(repository)
  chosen = _choose(repository, digests)
  place = _fetch_file(repository, commit, chosen, digests)
  if "/" not in chosen:
    for small in _SMALL:
      if small in digests:
        _fetch_file(repository, commit, small, digests)
  if chosen.endswith(formats.INDEX):
    for shard in formats.shard_names(place):
      _fetch_file(repository, commit, shard, digests)
  return place


def _choose(repository: Repository, digests: Mapping[str, str]) -> str:
  """Choose the file of a repository to read."""
  if repository.file:
    if repository.file not in digests:
      raise errors.unknown_error(
        f"file of {repository.text}", repository.file, digests
      )
    return repository.file
  ordered = formats.hub_order(digests)
  if ordered:
    return ordered[0]
  weights = [f for f in digests if f.lower().endswith(formats.ENDINGS)]
  if len(weights) == 1:
    return weights[0]
  listed = ", ".join(weights[:_LISTED]) or "none"
  raise errors.UserError(
    f"{repository.text}: the repository holds {len(weights)} files of weights"
    f" ({listed}), expected one. Name the file: {repository.text}:FILE."
  )


def _fetch_file(
  repository: Repository, commit: str, file: str, digests: Mapping[str, str]
) -> pathlib.Path:
  """Fetch a file of a repository to the cache."""
  address = "/".join(
    (
      _endpoint(),
      _path(repository),
      "resolve",
      commit,
      urllib.parse.quote(file),
    )
  )
  return cache.get(
    _folder(repository, commit).joinpath(*_plain_parts(file)),
    f"{repository.text}: {file} at {commit}",
    digests.get(file, ""),
    lambda part: download.file(address, part, _headers()),
  )


def _plain_parts(file: str) -> tuple[str, ...]:
  """Return the parts of a file's path, each a plain name."""
  parts = pathlib.PurePosixPath(file).parts
  cache.place(*parts)  # refuses what could leave the folder
  return parts


def _listing(repository: Repository) -> tuple[str, dict[str, str]]:
  """Return the commit of a revision, and the files' sha256 as far as the hub
  states them.

  A commit's listing is cached; for a branch the hub is asked each time, and its
  last answer is taken if it cannot be reached.
  """
  if _COMMIT.fullmatch(repository.revision):
    note = _folder(repository, repository.revision) / _LISTING
    if note.exists():
      return repository.revision, _read_note(note)[1]
    return _ask(repository)
  note = _folder(repository, *repository.revision.split("/")) / _LISTING
  try:
    return _ask(repository)
  except errors.UserError:
    if not note.exists():
      raise
    commit, digests = _read_note(note)
    logging.warning(
      "%s: the hub cannot be reached; takes commit %s, as %s was when it was"
      " last asked.",
      repository.text,
      commit,
      repository.revision,
    )
    return commit, digests


def _ask(repository: Repository) -> tuple[str, dict[str, str]]:
  """Ask the hub for a revision, and cache notes of its answer."""
  revision = urllib.parse.quote(repository.revision, safe="")
  address = f"{_endpoint()}/api/models/{_path(repository)}/revision/{revision}?blobs=true"
  try:
    data = download.text(address, _headers(), _MOST_BYTES)
  except errors.UserError as e:
    raise errors.UserError(
      f"{repository.text}: {e} {_remedy(repository)}"
    ) from e
  commit, digests = _parse_answer(
    reading.json_text(data, repository.text), repository
  )
  note = json.dumps({"sha": commit, "files": digests}, indent=1).encode()
  paths.write_bytes(_folder(repository, commit) / _LISTING, note)
  if repository.revision != commit:
    moving = _folder(repository, *repository.revision.split("/"))
    paths.write_bytes(moving / _LISTING, note)
    logging.info(
      "%s is commit %s now; %s@%s holds it.",
      repository.text,
      commit,
      f"hf:{repository.owner}/{repository.name}",
      commit,
    )
  return commit, digests


def _parse_answer(
  answer: Any, repository: Repository
) -> tuple[str, dict[str, str]]:
  """Parse commit and files from the hub's answer to `/api/models/…/revision/…`."""
  answer = answer if isinstance(answer, dict) else {}
  commit, files = answer.get("sha"), answer.get("siblings")
  if not _COMMIT.fullmatch(str(commit)) or not isinstance(files, list):
    raise errors.UserError(
      f"{repository.text}: {_shown_endpoint()} answers no listing of a repository,"
      f" expected sha and siblings. Is {ENDPOINT} a hub?"
    )
  digests = {}
  for entry in files:
    name = entry.get("rfilename") if isinstance(entry, dict) else None
    if isinstance(name, str):
      large = entry.get("lfs") or {}
      digests[name] = str(large.get("sha256", ""))
  return str(commit), digests


def _read_note(note: pathlib.Path) -> tuple[str, dict[str, str]]:
  facts = reading.json_file(note)
  return str(facts["sha"]), dict(facts["files"])


def _folder(repository: Repository, *revision: str) -> pathlib.Path:
  return cache.place("hf", repository.owner, repository.name, *revision)


def _path(repository: Repository) -> str:
  return f"{repository.owner}/{repository.name}"


def _endpoint() -> str:
  return (os.environ.get(ENDPOINT) or _HUB).rstrip("/")


def _shown_endpoint() -> str:
  return download.redacted(_endpoint())


def _headers() -> dict[str, str]:
  token = os.environ.get(TOKEN)
  return {"Authorization": f"Bearer {token}"} if token else {}


def _remedy(repository: Repository) -> str:
  return (
    f"A repository with limited access needs {TOKEN} in the environment. Without"
    f" a connection: fetch its checkpoint and {' and '.join(_SMALL)} elsewhere"
    " into one folder, and give that folder's path: checkpoint=FOLDER, of commands"
    " --config.model.checkpoint=FOLDER."
  )
