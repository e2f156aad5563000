"""Training for robustness: transforms of batches on the device.

  >>> import numpy as np
  >>> from robust_tfds import training
  >>> images = np.zeros((2, 32, 32, 3), np.uint8)
  >>> keys = np.arange(4, dtype=np.uint32).reshape(2, 2)
  >>> training.augmix(images, keys=keys).shape
  (2, 32, 32, 3)

Every transform is a pure function of (pixels, keys) with one key per example:
typed keys, as `corruptions.example_key` makes them, or their
`jax.random.key_data`, uint32 `[B, 2]`. Transforms run under `jit` and on
batches that are sharded on their first axis; they are fastest inside
`jax.shard_map`, where every device works on its own rows. `import models` loads
none of this.
"""

from models.training.transforms.adain import (
  load_stylizer as load_stylizer,
)
from models.training.transforms.augmix import augmix as augmix
from models.training.transforms.corruption_mix import (
  corruption_mix as corruption_mix,
)
from models.training.transforms.fractals import fractals as fractals
from models.training.transforms.pixmix import pixmix as pixmix
from models.training.transforms.stylize import stylize as stylize
from models.training.transforms.texture import textures as textures
