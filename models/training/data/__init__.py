"""The data that networks are trained on: `open` a source, then read its batches.

  source = data.open(data.Config(source="digits", validation=0.1))
  for batch in source.batches(batch_size=64, seed=0, epoch=0):
    batch["image"], batch["label"], batch["key"], batch["id"]

Examples come one by one and in any order from where they lie; grain reads them
ahead. What is random is drawn from an example's key: `source`.
"""

from collections.abc import Callable

from robust_tfds import errors
from robust_tfds.models.training.data import config as config_lib
from robust_tfds.models.training.data import examples, leaks
from robust_tfds.models.training.data.config import Config as Config
from robust_tfds.models.training.data.source import Beside
from robust_tfds.models.training.data.source import Source as Source


def open(
  config: Config,
  say: Callable[[str], None] | None = None,
  beside: Beside | None = None,
) -> Source:
  """The examples that a config names; a set of TFDS is prepared where it is not.

  Args:
    beside: what a recipe adds to the examples that are trained on.
    say: what is done with lines of progress; None: TFDS shows its own.

  Raises:
    MissingError: a benchmark of `judged_on` is not here.
    UserError: there are none, or some are in a test set, as are pictures that a
      recipe adds; names them.
  """
  config.check()
  line, folders = say or _silent, beside.folders if beside else {}
  for key, place in folders.items():
    config_lib.check_folder(key, place)
  read, against = examples.of(config, say), leaks.held(config, line)
  digest, groups = leaks.check(read, against, line)
  for key, place in folders.items():
    if pictures := examples.of_pictures(place):
      with errors.begun(key):
        leaks.check_pictures(pictures, against, line)
  return Source(read, config, against, beside, digest, groups)


def _silent(line: str) -> None:
  del line
