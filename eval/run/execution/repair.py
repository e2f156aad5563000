"""`--repair`: moves damaged parts of a workdir aside; the run makes them again."""

import functools
import sys
from collections.abc import Callable, Iterator, Mapping

from etils import epath

from eval.cells.files import config_file, damage
from eval.cells.workdir import Workdir
from eval.run.model import trained
from eval.run.spec import Model


def repair(workdir: Workdir, models: Mapping[str, Model]) -> None:
  """Move damaged parts aside: config.json, truth, trained models, cells.

  What is of another config, other data or other weights is not damaged: the run
  refuses it as ever.

  Args:
    workdir: workdir of the run, which holds its locks.
    models: label -> its part of the config.
  """
  for path, reason in _damaged(workdir, models):
    target = workdir.move_aside(path)
    text = f"{reason.rstrip('.')}. Moved to {target}; it is made anew."
    print(text, file=sys.stderr, flush=True)


def _damaged(
  workdir: Workdir, models: Mapping[str, Model]
) -> Iterator[tuple[epath.Path, str]]:
  """Yield (path, fault) of the damaged parts of a workdir.

  Each is moved before the next is asked for: the ground truth and its checksum
  are two files.
  """
  checks: list[Callable[[], object]] = [
    workdir.truth,
    functools.partial(config_file.check_readable, workdir.config_path),
  ]
  checks += [
    functools.partial(trained.check_whole, workdir.model_folder(label))
    for label, entry in models.items()
    if entry.train
  ]
  for check in checks:
    while (damaged := _damage(check)) is not None:
      yield damaged.folder, damaged.reason
  yield from workdir.damaged().items()


def _damage(check: Callable[[], object]) -> damage.DamagedError | None:
  """Return the error that a check raises; None if it raises none."""
  try:
    check()
  except damage.DamagedError as e:
    return e
  return None
