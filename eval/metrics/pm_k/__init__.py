"""pm-k: accuracy and mAP on the worst of an anchor frame's neighbours.

An anchor is a frame that humans labelled; its set holds the frames at most k
before or after it that humans found similar. pm-k counts an anchor as right only
if the model is right on it and on every frame of its set (Shankar et al. 2019,
section 2; Eq. 1 names the neighbours alone, the authors' scorer includes the
anchor: docs/evidence/specs/video.md section 4). For detection the frame with the lowest
AP stands for the anchor (`worst_frames.py`).
"""

from eval.metrics.pm_k.scores import Curve as Curve
from eval.metrics.pm_k.scores import accuracy as accuracy
from eval.metrics.pm_k.scores import curve as curve
from eval.metrics.pm_k.scores import first_failure as first_failure
from eval.metrics.pm_k.scores import (
  without_anchor as without_anchor,
)
from eval.metrics.pm_k.sets import Sets as Sets
from eval.metrics.pm_k.sets import checked as checked
from eval.metrics.pm_k.sets import group as group
from eval.metrics.pm_k.worst_frames import Frames as Frames
from eval.metrics.pm_k.worst_frames import detection as detection
from eval.metrics.pm_k.worst_frames import frame_ap as frame_ap
