"""Cross-entropy: the baseline that all other trainings are compared with.

  robust-tfds train --config=train_standard --workdir=/tmp/standard
  robust-tfds train --config=train_standard --plan
  robust-tfds train --config=train_standard:cifar --workdir=/runs/cifar
  robust-tfds train --config=train_standard:segmentation --workdir=/tmp/masks

Without a setting it trains on scikit-learn's digits, in seconds. `:segmentation` trains
a tiny FCN on scenes of digits with masks, in about a minute. `:cifar` and `:imagenet`
are the settings of AugMix's paper and code (Hendrycks et al. 2020). CIFAR trains
WRN-40-2, or the network after a comma; ImageNet trains ResNet-50 for 90 epochs, or 180.
The data are read through TFDS. All examples are trained on, as there;
`--config.data.validation=0.1` holds a tenth out. Unlike theirs, the last short batch of
an epoch is dropped: CIFAR's 50,000 pictures make 390 steps, not 391.
"""

import pathlib

import ml_collections

from robust_tfds import errors, reading

# CIFAR network -> epochs and decay of AugMix's code.
_CIFAR = {
  "wrn_40_2": (100, 5e-4),
  "allconv": (100, 5e-4),
  "densenet40_12": (200, 1e-4),
  "resnext29_4x32d": (200, 5e-4),
}
# What recipes are compared in.
COMMON = (
  *("digits", "cifar", *(f"cifar,{network}" for network in _CIFAR)),
  *("imagenet", "imagenet,180"),
)
SETTINGS = (*COMMON, "segmentation")


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  check(setting, SETTINGS, "train_standard")
  if setting == "segmentation":
    return _segmentation().lock()
  return common(setting, {"name": "standard"}).lock()


def _segmentation() -> ml_collections.ConfigDict:
  """Return the training of configs/quickstart_segmentation.py, with a validation."""
  config = common("digits", {"name": "standard", "balance": 0.35})
  config.model.name = "tiny_fcn"
  config.data.source = "digits_segmentation"
  config.steps, config.epochs, config.batch_size = 2000, 0, 4
  return config


def check(setting: str, settings: tuple[str, ...], file: str) -> None:
  """Refuse a setting (what stands after the colon) that a file does not have."""
  if setting not in settings:
    raise errors.unknown_error(f"setting of {file}", setting, settings)


def common(
  setting: str, recipe: dict, settings: tuple[str, ...] = COMMON
) -> ml_collections.ConfigDict:
  """Return a recipe in one of the settings that recipes are compared in, unlocked."""
  check(setting, settings, f"train_{recipe['name']}")
  kind, _, detail = setting.partition(",")
  recipe = {**recipe, "flip": kind != "digits", "label_smoothing": 0.0}
  config = ml_collections.ConfigDict()
  config.model = {"name": "digits_cnn", "checkpoint": "", "dtype": "float32"}
  config.model.update({"frozen_stages": 0, "frozen_norms": False})
  config.data = {"source": "digits", "split": "train", "validation": 0.1}
  config.data.update({"crop": "", "geometry": "", "data_dir": ""})
  config.recipe = {**recipe, "crop_px": 0}
  config.optimizer = {"name": "adam", "learning_rate": 3e-3, "accumulate": 1}
  config.optimizer.update({"weight_decay": 0.0, "ema": 0.0})
  config.schedule = {"name": "cosine", "floor": 0.0, "warmup": 0}
  config.keep = {"every": 100 * (kind == "digits"), "last": 2, "best": 1}
  config.steps, config.epochs, config.batch_size = 0, 30, 128
  config.seed = 0
  config.allow_benchmark_conditions = False
  if kind == "cifar":
    _cifar(config, detail or "wrn_40_2")
  if kind == "imagenet":
    _imagenet(config, int(detail or 90))
  return config


def sgd(
  rate: float | ml_collections.FieldReference, **more: float | bool
) -> ml_collections.ConfigDict:
  """Return the optimizer of most papers: SGD with a momentum of .9."""
  momentum = {"name": "sgd", "learning_rate": rate, "momentum": 0.9}
  rest = {"accumulate": 1, "ema": 0.0}
  return ml_collections.ConfigDict({**momentum, **rest, **more})


def fine_tuned(config: ml_collections.ConfigDict, rate: float) -> None:
  """Fine-tune torchvision's ResNet-50: 5 epochs, rate by us [U], cosine [U]."""
  config.model.checkpoint = "torchvision:ResNet50_Weights.IMAGENET1K_V1"
  config.epochs, config.optimizer.learning_rate = 5, rate
  config.schedule = {"name": "cosine", "floor": 0.0, "warmup": 0}


def _cifar(config: ml_collections.ConfigDict, network: str) -> None:
  """Set AugMix's CIFAR code: cosine per step to 1e-6."""
  config.model.name, (config.epochs, decay) = network, _CIFAR[network]
  config.data.source, config.data.validation = "tfds:cifar10", 0.0
  config.recipe.crop_px = 4
  config.optimizer = sgd(0.1, weight_decay=decay, nesterov=True)
  config.schedule.floor = 1e-6


def _imagenet(config: ml_collections.ConfigDict, epochs: int) -> None:
  """Set AugMix's ImageNet code: x.1 at each third of the epochs, 0.1 * B / 256."""
  config.model.name = "resnet50"
  config.model.dtype = "bfloat16"
  config.data.source, config.data.validation = "tfds:imagenet2012", 0.0
  config.data.crop = "random_resized224"
  config.data.geometry = "short256_crop224"
  config.batch_size = 256
  rate = config.get_oneway_ref("batch_size").to_float() * 0.1 / 256
  config.optimizer = sgd(rate, weight_decay=1e-4, nesterov=False)
  thirds = (epochs // 3, 2 * epochs // 3)
  config.schedule = {"name": "step", "at": thirds, "factor": 0.1, "warmup": 0}
  config.epochs = epochs


def printed(paper: str, table: str) -> list[dict[str, str]]:
  """Read the lines of a printed table of `eval/papers`."""
  folder = pathlib.Path(__file__).parents[1] / "eval" / "papers"
  lines = reading.line_list(folder / paper / f"{table}.tsv")
  head, *rows = (line.rstrip("\n").split("\t") for line in lines)
  return [dict(zip(head, row, strict=True)) for row in rows if any(row)]
