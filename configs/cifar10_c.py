"""CIFAR-10-C and CIFAR-100-C: 15 + 4 corruptions x 5 severities, plain means.

  robust-tfds run --config=cifar10_c:my_module:build --plan
  robust-tfds run --config=cifar10_c:my_module:build \\
      --config.data.manual_dir=/data/manual --workdir=/runs/mine
  ... --config.data.source=prepared --config.data.codec=published
  ... --config.data.name=cifar100_c
  ... --config.data.corruptions=common --config.data.severities='(1,3,5)'
  robust-tfds score --predictions=mine.csv --dataset=cifar10_c --out=/tmp/scored

`my_module:build` returns a model of 10 (of `cifar100_c` 100) classes that takes
32 px pictures: models/README.md; or name one of the catalogue, with
`--config.model.num_classes` and `--config.model.checkpoint`.

The test images are read from cifar-10-binary.tar.gz in the manual dir (of
CIFAR-100 cifar-100-binary.tar.gz), else from TFDS's own prepared `cifar10`, else
downloaded. Corruptions run on the accelerators; `source=prepared` reads the
builders' sets, with `codec=published` the authors' own arrays, which have to lie
in the manual dir: CIFAR-10-C/<corruption>.npy and labels.npy, unpacked from
https://zenodo.org/record/2535967 (CIFAR-100-C: 3555552). They hold no clean images:
the clean cell needs the test images as above.

No published numbers normalise these sets (AlexNet's are of ImageNet): the table
has plain means of the error, as papers on CIFAR report them. A model of the same
run can be the baseline: `--config.baseline=model:LABEL`.
"""

import ml_collections


def get_config(model: str = "my_module:build") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the first colon."""
  return ml_collections.ConfigDict(
    {
      "batch_size": 256,
      "data": {
        "name": "cifar10_c",  # or "cifar100_c"
        "split": "test",
        "codec": "raw",  # or, prepared, "published"
      },
      "model": {"name": model},
    }
  ).lock()
