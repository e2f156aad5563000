"""Models in JAX that run published checkpoints unchanged, in one catalogue.

Classifiers of pictures (`models/classification`), detectors
(`models/detection`), networks that label pixels (`models/segmentation`) and
networks of clips (`models/video`); a file with a `models.family.Family` is a
family, and adding one file adds its models.

What the evaluator asks of a model, whether from here, an adapter or an
enhancement, is `models.model.Model`: `.name`, `.spec`, `.init(key)`,
`.preprocess(batch)` and `.apply(variables, batch)`.

  >>> import jax
  >>> from robust_tfds import models
  >>> model = models.get("digits_cnn")
  >>> variables = model.init(jax.random.key(0))
  >>> model.apply(variables, jax.numpy.zeros((2, 32, 32, 3))).shape
  (2, 10)
  >>> models.names(kind="video")[:2]
  ('i3d_r50', 'mc3_18')
"""

from models import adaptation as adaptation
from models import adapters as adapters
from models import convert as convert
from models import spec as spec
from models.catalogue import get as get
from models.catalogue import names as names
from models.detection.spec import DetectorSpec as DetectorSpec
from models.segmentation.spec import SegmenterSpec as SegmenterSpec
from models.spec import Spec as Spec
from models.video.spec import VideoSpec as VideoSpec
