"""Training conventions of the libraries: how boxes are sampled, and which losses.

Numbers follow the libraries' own configs. torchvision: models/detection/{rpn,
roi_heads,retinanet,faster_rcnn,_utils}.py at 0.28. mmdetection 1.x: configs at
v1.0rc0, 2.x: configs/_base_/models at v2.28. R-FCN: the config
resnet_v1_101_flownet_imagenet_vid_rfcn_end2end_ohem of msracver/Flow-Guided-
Feature-Aggregation. Common values are the constants here.
"""

import dataclasses

# IoU limits of RPNs, Ren et al. 2015 (arXiv:1506.01497), section 3.1.2.
OBJECT_FROM, BACKGROUND_BELOW = 0.7, 0.3
# IoU limits of the heads' stages, Cai and Vasconcelos 2018 (arXiv:1712.00726);
# the first is Faster R-CNN's. The weights of their losses are those of
# mmdetection's configs.
STAGE_OVERLAPS = (0.5, 0.6, 0.7)
STAGE_WEIGHTS = (1.0, 0.5, 0.25)


@dataclasses.dataclass(frozen=True)
class TrainRules:
  """The conventions of training that differ between libraries.

  Attributes:
    betas: where L1 becomes quadratic, for proposals, heads, and RetinaNet's
      boxes; 0: nowhere.
    least: IoU from which an object takes its nearest anchors in RPNs, even if
      they overlap too little to be objects by themselves. RetinaNets have 0.
    last_wins: whether an anchor that is nearest to several objects belongs to
      the last one; else, and if it is nearest to none, to the object that it
      overlaps most.
    nearest_too: whether an object takes its nearest boxes in the heads as well.
    inside: whether RPNs learn only from anchors inside the picture.
    padded: whether anchors at places beyond the picture, padded to a multiple
      of 32 px, are left out; else they are background.
    candidates: number of boxes per level before suppression, and per picture
      after it.
    anchors: most anchors of a picture that an RPN learns from; half are
      objects.
    regions: regions of a picture that the heads learn from; a quarter are
      objects.
    by_picture: whether RetinaNet's losses are divided by the number of the
      objects' anchors of each picture and averaged; else by that of the batch.
    masks: target of a mask: `mean` of the pixels of each bin, `rounded` means,
      or `resized`, the box cut out and resized.
    constant_norms: whether scales and offsets of frozen norms are constants,
      too.
  """

  betas: tuple[float, float, float] = (1 / 9, 1.0, 0.11)
  least: float = 0.3
  last_wins: bool = True
  nearest_too: bool = False
  inside: bool = True
  padded: bool = True
  candidates: tuple[int, int] = (2000, 2000)
  anchors: int = 256
  regions: int = 512
  by_picture: bool = False
  masks: str = "resized"
  constant_norms: bool = False


_MMDETECTION = TrainRules(
  betas=(0.0, 0.0, 0.0), inside=False, candidates=(2000, 1000), masks="rounded"
)
TRAIN_RULES = {
  "torchvision": TrainRules(
    betas=(1 / 9, 1 / 9, 0.0),
    least=0.0,
    last_wins=False,
    inside=False,
    padded=False,
    by_picture=True,
    masks="mean",
    constant_norms=True,
  ),
  "mmdetection": _MMDETECTION,
  # Mask R-CNN's heads, and cascades, have other settings than Faster R-CNN.
  "mmdetection masks": dataclasses.replace(_MMDETECTION, nearest_too=True),
  "mmdetection cascade": TrainRules(masks="rounded"),
  "mmdetection1": TrainRules(nearest_too=True),
  "fgfa": TrainRules(
    betas=(1.0, 1.0, 0.0),
    least=0.0,
    last_wins=False,
    candidates=(6000, 300),
    constant_norms=True,
  ),
  # For `tiny_fasterrcnn`: scenes with a handful of digits.
  "tiny": TrainRules(
    betas=(1 / 9, 1 / 9, 0.0),
    least=0.1,
    last_wins=False,
    inside=False,
    padded=False,
    candidates=(200, 50),
    anchors=64,
    regions=64,
  ),
}
