"""ImageNet-P: 10 + 4 perturbation sequences, mFR and mT5D against AlexNet.

  robust-tfds run --config=imagenet_p:squeezenet1_1 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/squeezenet1_1.npz --workdir=/runs/squeezenet_p
  ... --config.data.perturbations=common --config.data.difficulties='(1,2,3)'
  ... --config.data.codec=h264
  ... --config.data.source=prepared --config.data.codec=published

The manual dir is that of configs/imagenet_c.py. The images are prepared once
(shorter side 256 px, lossless); the sequences are made on the accelerators.
That is lossless, which the table's `note` says beside every number;
`codec=h264` puts them through the published videos' codec on the host (extra
`video`); `source=prepared` reads the builders' sets instead, with
`codec=published` the authors' own videos (in a folder ImageNet-P of the manual
dir). `--config.data.geometry=inception` makes the 299 px edition, for Inception
networks. Other sets: `--config.data.name=tiny_imagenet_p`, `imagenet64_p`,
`cifar10_p`, `cifar100_p` (these two with `--config.data.split=test`), with a model
of their label space and `--config.baseline=''`, since AlexNet's numbers are not of
them.
"""

import ml_collections


def get_config(model: str = "resnet50") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the colon."""
  return ml_collections.ConfigDict(
    {
      "task": "sequences",
      "batch_size": 8,  # sequences; the model sees 31 times as many images
      "baseline": "alexnet",
      "data": {
        "name": "imagenet_p",
        "split": "validation",
        "codec": "png",  # or "h264", as published; "published" if prepared
        "geometry": "",  # or "inception": 299 px
      },
      "model": {"name": model},
    }
  ).lock()
