"""Tiny-ImageNet-C and ImageNet-64-C: 15 + 4 corruptions x 5, plain means.

  robust-tfds run --config=tiny_imagenet_c:my_module:build --plan
  robust-tfds run --config=tiny_imagenet_c:my_module:build \\
      --config.data.manual_dir=/data/manual --workdir=/runs/mine
  ... --config.data.codec=raw
  ... --config.data.source=prepared --config.data.codec=published
  ... --config.data.name=imagenet64_c
  robust-tfds score --predictions=mine.csv --dataset=tiny_imagenet_c \\
      --out=/tmp/scored

`my_module:build` returns a model of 200 (of `imagenet64_c` 1000) classes, in the
order of the sorted wnids, that takes 64 px pictures: models/README.md; or name
one of the catalogue, with `--config.model.checkpoint`, and with
`--config.model.num_classes` or, of a head of other classes,
`--config.model.classes=FILE`: a line an output, with its wnid.

The manual dir holds tiny-imagenet-200.zip, as it is or extracted (`imagenet64_c`:
the validation images of configs/imagenet_c.py). The corruptions run on the
accelerators, with the published images' last JPEG (`codec=raw`: without);
`source=prepared` reads the builders' sets, with `codec=published` the authors'
own files: Tiny-ImageNet-C.tar and Tiny-ImageNet-C-extra.tar from
https://zenodo.org/record/2536630, as they are or extracted.

No published numbers normalise these sets (AlexNet's are of ImageNet): the table
has plain means of the error. A model of the same run can be the baseline:
`--config.baseline=model:LABEL`.
"""

import ml_collections


def get_config(model: str = "my_module:build") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the first colon."""
  return ml_collections.ConfigDict(
    {
      "batch_size": 256,
      "data": {
        "name": "tiny_imagenet_c",  # or "imagenet64_c"
        "split": "validation",
        "codec": "jpeg85",  # as published; "raw"; prepared: "published"
      },
      "model": {"name": model},
    }
  ).lock()
