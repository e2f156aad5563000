"""Checks of both tasks on anchor sets: no setting may cut a set apart."""

import ml_collections

from robust_tfds import errors

# Names in `eval/run/subsets.py` that choose whole videos.
WHOLE = ("", "2015")


def check(data: ml_collections.ConfigDict, fly: bool) -> None:
  """Refuse settings that anchor sets do not have.

  Args:
    data: the config's `data`.
    fly: whether frames are shown as they are prepared.

  Raises:
    UserError: a limit or a subset that would cut sets apart, or prepared
      corrupted frames.
  """
  if data.get("limit"):
    raise errors.UserError(
      f"data.limit={data.limit} would cut anchor sets apart; set it to 0 for"
      " this task."
    )
  subset = str(data.get("subset") or "")
  if subset not in WHOLE:
    raise errors.UserError(
      f"data.subset={subset!r} would cut anchor sets apart; leave it empty for"
      f" this task, or take {WHOLE[1]!r}, which chooses whole videos."
    )
  if not fly:
    raise errors.UserError(
      f"data.source={data.source!r}: the frames themselves hold the"
      " perturbations, so there is nothing prepared to choose. Leave it at"
      " 'fly' and choose frames by data.config."
    )
