"""ImageNet-C: 15 + 4 corruptions x 5 severities, mCE against AlexNet.

  robust-tfds run --config=imagenet_c:squeezenet1_1 \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/squeezenet1_1.npz --workdir=/runs/squeezenet
  robust-tfds run --config=imagenet_c:resnet50 --plan ...
  ... --config.data.corruptions=common --config.data.severities='(1,3,5)'
  ... --config.data.corruptions=fog,frost --config.data.limit=1000

The manual dir holds ILSVRC2012_img_val.tar (with the devkit), or a folder of
validation images: official names, wnid folders, or files named <wnid>_*.JPEG.
Pictures are read from there (Resize 256, CenterCrop 224); nothing is written. The
corruptions run on the accelerators, with the published images' last JPEG (quality
85). `--config.data.codec=raw` leaves that out; AlexNet's numbers, which mCE is
divided by, are of JPEG images, so the table's `note` then says raw beside every
number. `--config.data.source=prepared` reads the builders' corrupted sets from the
data dir instead. `--config.data.geometry=model` crops the images by the model's
own rule instead of ImageNet-C's, and corrupts by the edition of that size;
`--config.data.geometry=inception` makes the 299 px edition, for Inception networks;
AlexNet's numbers are of 224 px, so it needs `--config.baseline=`.
"""

import ml_collections


def get_config(model: str = "resnet50") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the colon."""
  return ml_collections.ConfigDict(
    {
      "batch_size": 128,
      "baseline": "alexnet",
      "data": {
        "name": "imagenet_c",
        "split": "validation",
        "codec": "jpeg85",  # as published; "raw"; prepared: "published"
        "geometry": "imagenet",  # or "inception", or "model"
      },
      "model": {"name": model},
    }
  ).lock()
