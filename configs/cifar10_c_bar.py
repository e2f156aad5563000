"""CIFAR-10-C-bar: 10 corruptions unlike CIFAR-10-C's x 5 severities, plain means.

  robust-tfds run --config=cifar10_c_bar:my_module:build \\
      --config.data.manual_dir=/data/manual --workdir=/runs/mine
  ... --config.data.source=prepared --config.data.codec=published

The manual dir and all options are those of CIFAR-10-C (`cifar10_c.py`).
`codec=published` reads arrays that the authors' script wrote: CIFAR-10-C-Bar with
<corruption>.npy and labels.npy; the clean cell needs the test images. The table has
plain means of the error; the paper's numbers are printed beside.
"""

import ml_collections

from configs import cifar10_c


def get_config(model: str = "my_module:build") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the first colon."""
  config = cifar10_c.get_config(model)
  with config.unlocked():
    config.data.name = "cifar10_c_bar"
  return config
