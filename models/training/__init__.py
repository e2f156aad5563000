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

A whole training is `robust-tfds train`, from `main` to `run.train`:

  main              the command; `plan` describes, `run` trains
  config            the keys of a training's config, and their values
  data/             examples: opened, checked against test sets, cut, batched
  recipes/          a file each: what a recipe shows the network, and its loss
  transforms/       the transforms above, and the draws below them
  pgd               the attack of the recipe `alp`
  initial           the first weights: random ones, or a checkpoint's
  optimization/     the steps, from a batch to new weights; checkpoints
  monitoring/       the report, TensorBoard, the last lines on the screen
  workdir           which training a folder belongs to, and its lock
  handover          weights.npz and their preprocessing
  disclosure        disclosure.json, and the held-out rule for conditions
  named_conditions  the conditions that names of folders and sets state
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
