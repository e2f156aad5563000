"""Checks a submission, and says what was and what was not verified.

In this order, the first fault ends it: the manifest; names, kinds, sizes and sha256
of all files; config, notes and facts against each other; ids, labels and values
against the data set; the table, recomputed byte for byte. *Consistent* means that
all of it holds. Whoever makes up predictions and recomputes everything that follows
from them is consistent too: only the model itself tells, by `--rerun=k`; then it
says of how many cells it is *reproduced*.
"""

from __future__ import annotations

import itertools
import secrets
import typing
from collections.abc import Sequence

from etils import epath

from eval.cells import cell_facts, names, provenance, table
from eval.cells.files import damage
from eval.cells.workdir import Workdir
from eval.readers.base import Run
from eval.submissions import contents, layout
from eval.submissions import manifest as manifest_lib
from eval.submissions.manifest import Manifest
from robust_tfds import errors
from robust_tfds.storage import paths

if typing.TYPE_CHECKING:
  from eval.submissions.rerun import Again

_SEED_BITS = 63  # what no submitter guesses


def check(
  folder: epath.Path,
  rerun: int = 0,
  rerun_seed: int | None = None,
  own_data: str = "",
) -> str:
  """Check a submission.

  Args:
    rerun: how many cells are computed again, with the model and the data that
      its config names.
    rerun_seed: of the draw of these cells; None: one that nobody can foresee.
    own_data: where a set that is no benchmark lies here, `folder:/data/pets`.

  Returns:
    What was and was not verified, in words.

  Raises:
    UserError: the first fault: the file and the reason.
  """
  folder = epath.Path(folder)
  if rerun < 0:
    raise errors.UserError(f"--rerun={rerun}: expected a number from 0.")
  if not folder.is_dir():
    raise errors.UserError(f"--check={folder}: there is no such folder.")
  if paths.is_local(folder):
    folder = paths.resolved(folder)  # the folder itself may be a link
  manifest = manifest_lib.read(folder)
  layout.check(folder, manifest)
  try:
    run = contents.read(folder)
    account = contents.check(folder, manifest, run)
    rows = _check_table(folder, manifest, run)
  except damage.DamagedError as e:
    raise errors.UserError(f"{e.reason.rstrip('.')}.") from e
  again, word = None, "consistent"
  if rerun:
    from eval.submissions import rerun as rerun_lib

    seed = secrets.randbits(_SEED_BITS) if rerun_seed is None else rerun_seed
    again = rerun_lib.rerun(folder, run, account.trained, rerun, seed, own_data)
    word = f"reproduced, {len(again.cells):,} of {again.of:,} cells"
  verified, unverified = _lines(manifest, account, rows, again)
  return "\n".join(
    [
      f"{word}: {folder}",
      *_section("verified", verified),
      *_section("not verified", unverified),
      *_section("stated, not verified", _stated(manifest, account, again)),
    ]
  )


def _section(heading: str, lines: Sequence[str]) -> list[str]:
  return [f"{heading}:", *(f"- {line}" for line in lines)] if lines else []


def _check_table(folder: epath.Path, manifest: Manifest, run: Run) -> int:
  """Refuse a table that is not that of the predictions and return its rows."""
  path = Workdir(folder).table_path
  rows = run.rows()
  expected = table.dumps(rows)
  got = paths.read_bytes(path)  # of the manifest's size
  if got == expected.encode("utf-8"):
    return len(rows)
  there = got.decode("utf-8", "replace").split("\n")
  pairs = itertools.zip_longest(there, expected.split("\n"), fillvalue="")
  line, (one, other) = next(
    (i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1]
  )
  made = provenance.code_version()
  versions = (
    f" It was written by robust_tfds {manifest.code}, this is {made}."
    if manifest.code != made
    else ""
  )
  raise errors.UserError(
    f"{path}: line {line}: got {one[:300]!r}, but the predictions give"
    f" {other[:300]!r}.{versions}"
  )


def _lines(
  manifest: Manifest, account: contents.Account, rows: int, again: Again | None
) -> tuple[list[str], list[str]]:
  """What was verified, and what was not; of the latter the predictions first."""
  total = sum(file.size for file in manifest.files.values())
  verified = [
    f"{len(manifest.files):,} files of {total:,} bytes: names, sizes, sha256; no"
    " other file, no link, no pickle",
    f"table.csv: {rows:,} rows, byte for byte from the predictions",
    f"{account.cells:,} of the {account.planned:,} cells that config.json names:"
    " columns and classes of the task, and what is derived from them",
    f"{account.marked:,} fingerprints: those of the facts beside them",
  ]
  unverified = [
    "that the models gave these predictions: run again with --rerun=K where the"
    " weights and the data are"
  ]
  if again:
    verified += again.lines
    unverified = list(again.left)
  for label in account.trained:
    verified.append(
      f"weights of {label}: of the facts' sha256, in the submission"
    )
    unverified.append(f"that training {label} as config.json says gives them")
  unverified += cell_facts.stated(
    (label, facts.words()) for label, facts in manifest.models.items()
  )
  if account.marked < account.cells:
    unverified.append(
      f"facts of {account.cells - account.marked:,} cells, which were not noted"
      " when they were made"
    )
  for name in sorted(account.examples):
    one, other = _of_examples(name, account, again)
    verified += one
    unverified += other
  if layout.TRUTH[0] in manifest.files:
    if again:
      verified.append("truth.json: the ground truth of the data that are here")
    else:
      unverified.append("that truth.json is the data set's ground truth")
  return verified, unverified


def _stated(
  manifest: Manifest, account: contents.Account, again: Again | None
) -> list[str]:
  """What the submitter says and nothing here tells, in words."""
  out = []
  for name, stated in account.stated.items():
    left = again.free if again and name in again.datasets else stated
    listed = [
      f"{fact} {'unknown' if value is None else value or 'none'}"
      for fact, value in stated.items()
      if fact in left
    ]
    if listed:
      out.append(f"data of {name}: {', '.join(listed)}")
  for label, facts in manifest.models.items():
    if scripts := [s for s in names.scripts(label) if s != "LATIN"]:
      out.append(f"the label {label!r} has {' and '.join(scripts)} letters")
    what = "preprocessing, dtype and code"
    if label not in account.trained:
      what = f"weights, {what}"
    if not (again and label in again.models):
      out.append(f"{what} of {label}")
    seen, levels = facts.corruptions_seen, facts.severities_seen
    words = cell_facts.trained_on(seen or (), levels if seen else None)
    words = "nobody says" if seen is None else words or "none"
    out.append(
      f"{label}: trained on {facts.trained_on}; test corruptions seen: {words}"
    )
  return out


def _of_examples(
  name: str, account: contents.Account, again: Again | None
) -> tuple[list[str], list[str]]:
  """What was verified of a set's examples and labels, and what was not."""
  if again and name in again.datasets:
    return [f"{name}: its examples and labels, from the data that are here"], []
  examples = sorted(account.examples[name])
  verified = [each.verified for each in examples if each.verified]
  unverified = [each.unverified for each in examples if each.unverified]
  by_id, count = account.labels.get(name, (0, 0))
  if by_id:
    verified.append(f"labels of {name}: {by_id:,} of {count:,} by their ids")
  if by_id < count:
    unverified.append(
      f"labels of {count - by_id:,} of {count:,} rows of {name}: their ids do"
      " not tell them"
    )
  return verified, unverified
