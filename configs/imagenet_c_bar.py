"""ImageNet-C-bar: 10 corruptions unlike ImageNet-C's x 5 severities, plain means.

  robust-tfds run --config=imagenet_c_bar:resnet50 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/resnet50.npz --workdir=/runs/resnet50_bar
  ... --config.data.source=prepared --config.data.codec=published

The manual dir and all options are those of ImageNet-C (`imagenet_c.py`): the same
clean pictures, crop and last JPEG. `codec=published` reads imagenet_c_bar.tar.gz, or
what was unpacked from it; the clean cell needs the validation images. The table has
the plain mean of the error over the severities of each corruption, and over the ten
corruptions. No published numbers normalise it, and it is never part of mCE. The
paper's numbers, with the ImageNet-C error of the same networks, are printed beside.
"""

import ml_collections

from configs import imagenet_c


def get_config(model: str = "resnet50") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the colon."""
  config = imagenet_c.get_config(model)
  with config.unlocked():
    config.baseline = ""
    config.data.name = "imagenet_c_bar"
  return config
