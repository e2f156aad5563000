"""Training on conditions of benchmarks, disclosed (Shankar 2019; Schiappa 2023).

  robust-tfds train --config=train_corruption_mix --workdir=/tmp/noise
  robust-tfds train --config=train_corruption_mix:jpeg_compression --plan
  robust-tfds train --config=train_corruption_mix:temporal --workdir=/tmp/temporal
  robust-tfds train --config=train_corruption_mix:temporal,ucf101 --plan

Pictures: the colon is followed by one corruption, as in Shankar et al.
(`gaussian_noise`, `gaussian_blur`, `shot_noise`, `contrast`, `impulse_noise`,
`jpeg_compression`, `defocus_blur`, `brightness`, or any other). Alone it trains on
scikit-learn's digits; `cifar,` or `imagenet,` before it names other data. `digits`
alone is Gaussian noise and `imagenet` alone is JPEG, as in their Table 2. Shankar et
al. state no severities; 1 to 3 are those of Schiappa et al.

Videos: the colon is followed by a mix of Schiappa et al. (`temporal`, `spatial`,
`mixed` or `pixmix`). Alone it trains on digits in motion. With `,ucf101` or `,hmdb51`
it is their setting, which starts from weights of Kinetics-400
(`config.model.checkpoint`). PixMix needs `config.recipe.pictures`. The paper draws
from all operations. Here colour, contrast, brightness and sharpness are off, as in all
recipes; `--config.recipe.overlap=True` turns them on, and the network says so.

Benchmarks test on the conditions that are trained on here. The config allows it, and
the network says which conditions it saw. Videos: train on severities 1 to 3, test on
4 and 5.
"""

import ml_collections

from configs import train_standard
from robust_tfds import conditions

_PAPER = "schiappa2023"
_MIXES = ("temporal", "spatial", "mixed", "pixmix")
_SETS = {"ucf101": "ucf101_train", "hmdb51": "hmdb51_train"}
# The authors' names of some perturbations.
_OURS = {
  "jumble": "jumbling",
  "freeze": "freezing",
  "rotate (per-frame random)": "random_rotation",
}
_OF_PLACES = {
  "digits": "gaussian_noise",
  "cifar": "gaussian_noise",
  "imagenet": "jpeg_compression",
}
_NAMES = conditions.PICTURES.names()
SETTINGS = (
  *_OF_PLACES,
  *_NAMES,
  *(f"{place},{n}" for place in ("cifar", "imagenet") for n in _NAMES),
  *_MIXES,
  *(f"{mix},{place}" for mix in _MIXES for place in _SETS),
)


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  train_standard.check(setting, SETTINGS, "train_corruption_mix")
  first, _, second = setting.partition(",")
  if first in _MIXES:
    return _of_videos(first, second).lock()
  place = first if first in _OF_PLACES else "digits"
  name = second or _OF_PLACES.get(first, first)
  recipe: dict = {"name": "corruption_mix", "names": name}
  recipe |= {"severities": (1, 2, 3), "edition": "any"}
  config = train_standard.common(place, recipe)
  config.allow_benchmark_conditions = True
  return config.lock()


def _of_videos(mix: str, place: str) -> ml_collections.ConfigDict:
  """Return the config for digits in motion, or the authors' for a set of theirs."""
  config = train_standard.common("digits", _recipe(mix))
  config.allow_benchmark_conditions = mix != "pixmix"
  config.data.update({"manual_dir": "", "crop": "short36_random32"})
  config.data.geometry = "short36_crop32"
  config.model.name, config.data.source = "tiny_r3d", "digits_video"
  config.optimizer.learning_rate = 3e-3
  config.epochs, config.batch_size = 15, 32
  if place:
    _of_paper(config, _SETS[place])
  return config


def _of_paper(config: ml_collections.ConfigDict, source: str) -> None:
  """Set the released code's defaults: docs/evidence/specs/training.md section 4."""
  config.model.name, config.data.source = "i3d_r50", source
  config.data.crop, config.data.geometry = (
    "short256_random224",
    "short256_crop224",
  )
  if config.recipe.name == "pixmix":
    config.recipe.short_px = 256
  config.recipe.flip = False
  config.optimizer = train_standard.sgd(0.1, weight_decay=1e-3, dampening=0.9)
  config.schedule = {"name": "plateau", "patience": 10, "factor": 0.1}
  config.schedule.warmup = 0
  config.keep.every = 0
  config.epochs, config.batch_size = 50, 16


def _recipe(mix: str) -> dict:
  """Return the recipe of a mix as the paper prints it."""
  lines = train_standard.printed(_PAPER, "training_mixes")
  rows = {r["training"]: r for r in lines if r["condition"] == "train"}
  ends = (int(rows[mix][f"{end}_severity"]) for end in ("lowest", "highest"))
  low, high = ends
  if mix == "pixmix":
    recipe: dict = {"name": "pixmix", "pictures": "", "short_px": 36}
    return {**recipe, "k": 4, "beta": float(high), "severity": high}
  # `mixed` draws a kind, then one of its three perturbations: all six are equally
  # likely.
  parts = ("temporal", "spatial") if mix == "mixed" else (mix,)
  names = [n for part in parts for n in rows[part]["note"].split(", ")]
  ours = ",".join(_OURS.get(name, name) for name in names)
  levels = tuple(range(low, high + 1))
  recipe = {"name": "corruption_mix", "names": ours, "severities": levels}
  # The probability is that of their loop: docs/evidence/specs/video.md.
  return {**recipe, "probability": 0.75}
