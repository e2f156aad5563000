"""Data of your own: class folders, TFDS sets, COCO files; docs/OWN_DATA.md.

  robust-tfds run --config=own_data:resnet50 \\
      --config.data.name=folder:/data/pets --workdir=/runs/pets \\
      --config.model.checkpoint=torchvision:IMAGENET1K_V2
  ... --config.data.perturbations=common

`folder:PATH`, `videos:PATH`, `coco:FILE.json` (`--config.data.images=FOLDER`),
`tfds:NAME`, `tfds:my_module:Builder`, a natural set by its name; without a name embedded
digits, to try it. What runs call the set is the folder's last part, or
`--config.data.set_name=pets`. With `perturbations` pictures become ImageNet-P's
sequences; else `corruptions` are made. Pictures are cropped by the model's own rule,
then corrupted by the edition of that size; videos are perturbed whole, and 5 clips of
each shown, as of HMDB51 and UCF101 (`views`), cut and cropped by the model's own rule.
"""

import ml_collections


def get_config(model: str = "") -> ml_collections.ConfigDict:
  """Return the run of one model, named after the colon; the data name the task."""
  recipe = {"dataset": "digits", "steps": 300, "batch_size": 128}
  trained = {"train": {**recipe, "learning_rate": 3e-3}}
  return ml_collections.ConfigDict(
    {
      "batch_size": 0,  # 64 pictures, 8 videos
      "data": {
        "name": "" if model else "tfds:digits",
        "set_name": "",  # default: the place's last part
        "split": "",  # of a TFDS set
        "images": "",  # of a COCO file; default: its folder
        "labels": "",  # of a folder: a table of path and label
        "geometry": "model",  # the model's own crop
        "corruptions": "",  # common; of natural sets none
        "severities": (1, 2, 3, 4, 5),
        "perturbations": "",  # of pictures: ImageNet-P's instead
        "difficulties": (1,),
        "views": 5,  # clips of a video, evenly placed
        "sampling": "dense",  # or "uniform": one view of the whole video
      },
      "model": {
        "name": model or "digits_linear",
        **({} if model else trained),
      },
    }
  ).lock()
