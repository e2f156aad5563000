"""Action recognition under 18 perturbations x 5: gamma_a and gamma_r.

  robust-tfds run --config=video_p:kinetics400_p,x3d_m \\
      --config.data.manual_dir=/data/manual \\
      --config.model.checkpoint=/weights/X3D_M.pyth --workdir=/runs/x3d_m
  ... --config.data.perturbations=temporal,jpeg --config.data.severities='(1,3,5)'
  ... --config.data.views=1 --config.data.limit=200

UCF101-DS, natural shifts in place of perturbations (accuracy by category and by
shift); two runs of it, or of any of these, go beside each other by
`robust-tfds compare`:

  ... --config=video_p:ucf101_ds,r2plus1d_18

Data sets: kinetics400_p, ucf101_p, hmdb51_p, ssv2_p (their READMEs say what the
manual dir holds), ucf101_ds; networks: `models.names(kind="video")`. The files
are kept as they are and perturbed on the fly; `--config.data.source=prepared`
reads the builders' lossless sets. Views are the paper's: 10 of Kinetics, 5 of
UCF101 and HMDB51, 1 of SSv2. Needs PyAV (extra `video`).
"""

import ml_collections

from robust_tfds import errors

# Data set -> split, clips of a video, classes.
_SETS = {
  "kinetics400_p": ("validation", 10, 400),
  "ucf101_p": ("test", 5, 101),
  "hmdb51_p": ("test", 5, 51),
  "ssv2_p": ("validation", 1, 174),
  "ucf101_ds": ("test", 5, 101),
}


def get_config(what: str = "kinetics400_p,x3d_m") -> ml_collections.ConfigDict:
  """Return the run of one model on one data set, named after the colon."""
  dataset, _, model = what.partition(",")
  if dataset not in _SETS or not model:
    raise errors.UserError(
      f"video_p.py:{what}: expected <dataset>,<model>, with a dataset of"
      f" {', '.join(_SETS)}."
    )
  split, views, classes = _SETS[dataset]
  return ml_collections.ConfigDict(
    {
      "task": "video",
      "batch_size": 8,  # videos
      "data": {
        "name": dataset,
        "split": split,
        # all, none, groups, names or mixes (temporal_eval, spatial_eval, ...)
        "perturbations": "none" if dataset == "ucf101_ds" else "all",
        "views": views,
        # SSv2: the middles of equal parts of the whole video.
        "sampling": "uniform" if dataset == "ssv2_p" else "dense",
      },
      "model": {"name": model, "num_classes": classes},
    }
  ).lock()
