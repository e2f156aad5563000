"""The data that networks are trained on: `open` a source, then read its
batches.

  source = data.open(data.Config(source="digits", validation=0.1))
  for batch in source.batches(batch_size=64, seed=0, epoch=0):
    batch["image"], batch["label"], batch["key"], batch["id"]

Examples are read one by one and in any order from where they are stored,
ahead: `read_ahead`. All randomness is drawn from an example's key: `source`.
"""

from collections.abc import Callable

from models.training.data import config as config_lib
from models.training.data import examples, kept_pictures, leaks
from models.training.data.config import Config as Config
from models.training.data.source import Additions
from models.training.data.source import Source as Source


def open(
  config: Config,
  say: Callable[[str], None] | None = None,
  additions: Additions | None = None,
) -> Source:
  """Open the examples that a config names, preparing a TFDS set if necessary.

  Args:
    additions: what a recipe adds to the training examples.
    say: receives lines of progress; None: TFDS shows its own.

  Raises:
    MissingError: a benchmark of `judged_on` is not here.
    UserError: there are no examples, or the files of some are in a test set;
      the message names them.
  """
  for key, place in (additions.folders if additions else {}).items():
    config_lib.check_folder(key, place)
  line = say or _silent
  read = examples.find(config, say)
  digest, digests, groups = leaks.check(read, leaks.held(config, line), line)
  if config.cache:
    read = kept_pictures.KeptPictures(read, config.cache, digest, digests, line)
  return Source(read, config, additions, digest, groups)


def _silent(line: str) -> None:
  del line
