"""The check of a submission, which says what was verified and what was not.

Checks run in this order, and the first fault ends them: the manifest; names,
kinds, sizes and sha256 of all files; config, notes and facts; ids, labels and
classes; the table, recomputed byte for byte. A submission that passes is
*consistent*. So is one whose predictions are made up and whose hashes and table
follow from them: only the model itself tells, by `--rerun=K`. A submission that
passes it is *reproduced*, for the drawn cells.
"""

from __future__ import annotations

import itertools
import secrets
import typing

from etils import epath

from eval.cells import cell_facts, provenance, table
from eval.cells.files import damage
from eval.cells.workdir import Workdir
from eval.readers.base import Run
from eval.submissions import contents
from eval.submissions import files as files_lib
from eval.submissions import manifest as manifest_lib
from eval.submissions.manifest import Manifest
from robust_tfds import errors
from robust_tfds.storage import paths

if typing.TYPE_CHECKING:
  from eval.submissions.rerun import Rerun

_SEED_BITS = 63  # no submitter can guess the seed


def check(
  folder: epath.Path,
  rerun: int = 0,
  rerun_seed: int | None = None,
  own_data: str = "",
) -> str:
  """Check a submission.

  Args:
    rerun: number of cells to recompute, with the model and the data that the
      config names.
    rerun_seed: seed of the draw of these cells; None for a random one.
    own_data: place of a set that is no benchmark, e.g. `folder:/data/pets`.

  Returns:
    What was and was not verified, in words.

  Raises:
    UserError: the first fault; the message names the file and the reason.
  """
  folder = epath.Path(folder)
  if rerun < 0:
    raise errors.UserError(
      f"--rerun={rerun}: expected a number of cells, at least 0."
    )
  if not folder.is_dir():
    raise errors.UserError(f"--check={folder}: there is no such folder.")
  if paths.is_local(folder):
    folder = paths.resolved(folder)  # the folder itself may be a link
  manifest = manifest_lib.read(folder)
  files_lib.check(folder, manifest)
  try:
    run = contents.read(folder)
    comparison = contents.check(folder, manifest, run)
    rows = _check_table(folder, manifest, run)
  except damage.DamagedError as e:
    raise errors.UserError(f"{e.reason.rstrip('.')}.") from e
  made, word = None, "consistent"
  if rerun:
    from eval.submissions import rerun as rerun_lib

    seed = secrets.randbits(_SEED_BITS) if rerun_seed is None else rerun_seed
    made = rerun_lib.rerun(
      folder, run, comparison.trained, rerun, seed, own_data
    )
    word = f"reproduced, {len(made.cells):,} of {made.total:,} cells"
  sections = {
    "verified": _verified(manifest, comparison, rows, made),
    "not verified": _unverified(manifest, comparison, made),
    "stated, not verified": _user_statements(manifest, comparison, made),
  }
  lines = [f"{word}: {folder}"]
  for heading, listed in sections.items():
    if listed:
      lines += [f"{heading}:", *(f"- {line}" for line in listed)]
  return "\n".join(lines)


def _check_table(folder: epath.Path, manifest: Manifest, run: Run) -> int:
  """Return the number of rows; refuse a table that the predictions do not give."""
  path = Workdir(folder).table_path
  rows = run.rows()
  expected = table.dumps(rows)
  got = paths.read_bytes(path).decode("utf-8", "replace")
  if got == expected:
    return len(rows)
  pairs = itertools.zip_longest(
    got.split("\n"), expected.split("\n"), fillvalue=""
  )
  line, (there, here) = next(
    (i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1]
  )
  version = provenance.code_version()
  versions = (
    f" It was written by robust_tfds {manifest.code}, this is {version}."
    if manifest.code != version
    else ""
  )
  raise errors.UserError(
    f"{path}: line {line}: got {there[:300]!r}, but the predictions give"
    f" {here[:300]!r}.{versions}"
  )


def _verified(
  manifest: Manifest,
  comparison: contents.Comparison,
  rows: int,
  made: Rerun | None,
) -> list[str]:
  total = sum(file.size for file in manifest.files.values())
  out = [
    f"{len(manifest.files):,} files of {total:,} bytes: names, sizes, sha256; no"
    " other file, no link, no pickle",
    f"table.csv: {rows:,} rows, byte for byte from the predictions",
    f"{comparison.cells:,} of the {comparison.planned:,} cells that config.json names:"
    " columns and classes of the task",
    f"{comparison.marked:,} fingerprints: those of the facts beside them",
    *(made.verified() if made else ()),
  ]
  out += [
    f"weights of {label}: of the facts' sha256, in the submission"
    for label in comparison.trained
  ]
  if made and files_lib.TRUTH[0] in manifest.files:
    out.append("truth.json: the ground truth of the data on this machine")
  for name in sorted(comparison.examples):
    if made and name in made.datasets:
      out.append(
        f"{name}: its examples and labels, from the data on this machine"
      )
      continue
    out += filter(None, sorted(e.verified for e in comparison.examples[name]))
    implied, count = comparison.labels.get(name, (0, 0))
    if implied:
      out.append(f"labels of {name}: {implied:,} of {count:,} by their ids")
  return out


def _unverified(
  manifest: Manifest, comparison: contents.Comparison, made: Rerun | None
) -> list[str]:
  out = (
    made.unverified()
    if made
    else [
      "that the models gave these predictions: run again with --rerun=K where the"
      " weights and the data are"
    ]
  )
  out += [
    f"that training {label} as config.json says gives its weights"
    for label in comparison.trained
  ]
  out += cell_facts.elsewhere_notes(
    (label, facts.words()) for label, facts in manifest.models.items()
  )
  if comparison.marked < comparison.cells:
    out.append(
      f"facts of {comparison.cells - comparison.marked:,} cells, which were not recorded"
      " when they were made"
    )
  if not made and files_lib.TRUTH[0] in manifest.files:
    out.append("that truth.json is the data set's ground truth")
  for name in sorted(comparison.examples):
    if made and name in made.datasets:
      continue
    out += filter(None, sorted(e.unverified for e in comparison.examples[name]))
    implied, count = comparison.labels.get(name, (0, 0))
    if implied < count:
      out.append(
        f"labels of {count - implied:,} of {count:,} rows of {name}: their ids do"
        " not imply them"
      )
  return out


def _user_statements(
  manifest: Manifest, comparison: contents.Comparison, made: Rerun | None
) -> list[str]:
  """Return a text about claims that only the submitter makes."""
  out = []
  for name, stated in comparison.stated.items():
    if made and name in made.datasets:
      from eval.submissions import rerun as rerun_lib

      stated = {k: v for k, v in stated.items() if k in rerun_lib.FREE_FACTS}
    listed = [
      f"{fact} {'unknown' if value is None else value or 'none'}"
      for fact, value in stated.items()
    ]
    if listed:
      out.append(f"data of {name}: {', '.join(listed)}")
  for label, facts in manifest.models.items():
    subject = "preprocessing, dtype and code"
    if label not in comparison.trained:
      subject = f"weights, {subject}"
    if not (made and label in made.models):
      out.append(f"{subject} of {label}")
    seen, levels = facts.corruptions_seen, facts.severities_seen
    words = cell_facts.trained_on(seen or (), levels if seen else None)
    words = "unknown" if seen is None else words or "none"
    out.append(
      f"{label}: trained on {facts.trained_on}; test corruptions seen: {words}"
    )
  return out
