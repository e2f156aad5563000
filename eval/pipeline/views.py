"""The frames of a video that a model is shown.

View v of n starts at v / n of the remaining length of the video
(`robust_tfds.building.videos.clip_numbers`). Temporal perturbations act on the
whole video first, as index maps, before any pixel is read.
"""

import dataclasses
from typing import NamedTuple

import numpy as np

from robust_tfds.building import videos
from robust_tfds.conditions import Condition
from robust_tfds.corruptions import video as perturbations


class Clip(NamedTuple):
  """The clips that a model's spec asks for.

  Attributes:
    frames: number of frames of a clip.
    rate: stride between them, at 30 fps.
  """

  frames: int
  rate: int


@dataclasses.dataclass(frozen=True)
class Views:
  """The way in which a run samples its videos.

  Attributes:
    count: number of clips per video.
    sampling: `dense` (`view_indices`) or `uniform` (`uniform_indices`).
    edition: edition of the perturbations.
  """

  count: int
  sampling: str = "dense"
  edition: str = "paper"

  def numbers(
    self,
    num_frames: int,
    fps: float,
    condition: Condition,
    key: np.ndarray,
    clip: Clip,
  ) -> np.ndarray:
    """Return the numbers of the shown frames: int64 `[views, frames]`.

    Args:
      condition: a temporal one chooses frames, others change no number.
      key: key of the video under the condition, uint32 `[2]`.
    """
    order = np.arange(num_frames)
    if condition.name and perturbations.is_temporal(condition.name):
      order = perturbations.frame_indices(
        num_frames,
        condition.name,
        condition.level,
        edition=self.edition,
        key=key,
      )
    if self.sampling == "uniform":
      return order[uniform_indices(len(order), clip.frames)]
    return order[view_indices(len(order), fps, *clip, self.count)]


def view_indices(
  num_frames: int, fps: float, frames: int, rate: int, views: int
) -> np.ndarray:
  """Return the frames that each view shows.

  Args:
    rate: stride between a clip's frames at 30 fps.
    views: number of clips, evenly placed.

  Returns:
    int64 `[views, frames]`, in 0..num_frames-1; short videos repeat their last
    frame.

  >>> view_indices(20, 30.0, 4, 2, 2).tolist()
  [[0, 2, 4, 7], [6, 8, 10, 13]]
  """
  at = np.arange(views)
  return videos.clip_numbers(num_frames, fps, frames, rate, at, views)


def uniform_indices(num_frames: int, frames: int) -> np.ndarray:
  """Return one view over the whole video: the middles of equal parts.

  How Something-Something v2 is sampled (docs/evidence/specs/video.md section 2): parts
  of (num_frames - 1) / frames, the middle of each.

  Returns:
    int64 `[1, frames]`.

  >>> uniform_indices(41, 4).tolist()
  [[5, 15, 25, 35]]
  """
  part = (num_frames - 1) / frames
  starts = np.round(part * np.arange(frames)).astype(np.int64)
  ends = np.round(part * np.arange(1, frames + 1)).astype(np.int64)
  return ((starts + ends) // 2)[None]
