"""The source video of each anchor set: sets of one video are drawn together."""

import re

import numpy as np

# Of YouTube-BB a set's path is <YouTube id>_<ms>/frame-<n>.jpg: 2,529 anchors lie in
# 2,072 videos. Of ImageNet-Vid-Robust it is val/<video>/<n>.JPEG; its 1,109 anchors
# are of as many videos (docs/evidence/specs/video.md section 4).
_FORMS = {
  "ytbb_robust": re.compile(r"(?:.*/)?(?P<video>[^/]+)_\d+/frame-\d+\.jpg"),
  "imagenet_vid_robust": re.compile(r"(?P<video>.+)/[^/]+\.JPEG"),
}


def video_ids(dataset: str, sets: np.ndarray) -> np.ndarray:
  """Return the video of each set; the set itself if its name does not tell.

  Args:
    sets: `[N]` texts, anchors' paths.
  """
  form = _FORMS.get(dataset)
  if form is None or not len(sets):
    return sets
  names, index = np.unique(sets, return_inverse=True)
  matches = ((form.fullmatch(name), name) for name in names.tolist())
  videos = [match["video"] if match else name for match, name in matches]
  return np.array(videos, np.str_)[index]
