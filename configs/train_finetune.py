"""Fine-tuning as the papers do it: on frames of videos, on 30 classes, on CLAHE.

  robust-tfds train --config=train_finetune --workdir=/tmp/finetune
  robust-tfds train --config=train_finetune:vid,resnet50 \\
      --config.data.manual_dir=/data/manual --workdir=/runs/vid
  robust-tfds train --config=train_finetune:clahe --workdir=/runs/clahe
  robust-tfds run --config=imagenet_c:resnet50 --workdir=/runs/clahe_c \\
      --config.model.checkpoint=/runs/clahe --config.data.manual_dir=/data/manual

`:vid` and `:ytbb` are Shankar et al.'s (Appendix J): torchvision's networks on frames of
ImageNet-Vid, and on anchors of YouTube-BB. The network is ResNet-50, or the one after a
comma. Rate, batch and epochs are Table 10's; the rate falls on plateaus. Our choices,
which the paper does not state [U]: SGD with a momentum of .9, no decay, x.1 after 2
epochs without a lower loss on a tenth of the videos, crops and flips.

`:ilsvrc30` trains a ResNet-50 from scratch on ImageNet's pictures of ImageNet-Vid's
30 classes, at the standard setting [U]; `:vid,resnet50` from its workdir is their
"ILSVRC-30, fine-tuned".

`:clahe` is Hendrycks & Dietterich's (section 5.2): all of torchvision's ResNet-50, 5
epochs on pictures whose histograms are equalized. Its workdir is tested behind the
enhancement of the same name, as `resnet50+clahe`. Our choices [U]: clip limit 2, 8 x 8
tiles, the luma (OpenCV's rules), .001 and a cosine. CLAHE is not a condition of a
benchmark.

Without a setting it trains on scikit-learn's digits in the same way, at 1e-3 (Adam),
from random weights or from --config.model.checkpoint=/tmp/standard.
"""

import ml_collections

from configs import train_standard

_FRAMES = {"vid": ("imagenet_vid_train", 30), "ytbb": ("ytbb_train", 24)}
# Networks of Table 10, and the weights that they begin with.
_NETWORKS = {
  "resnet50": "ResNet50_Weights",
  "resnet152": "ResNet152_Weights",
  "alexnet": "AlexNet_Weights",
  "vgg16": "VGG16_Weights",
}
SETTINGS = (
  "digits",
  *_FRAMES,
  *(f"{kind},{network}" for kind in _FRAMES for network in _NETWORKS),
  *("ilsvrc30", "clahe"),
)


def get_config(setting: str = "digits") -> ml_collections.ConfigDict:
  """Return the training's config; override fields with --config.field=value."""
  train_standard.check(setting, SETTINGS, "train_finetune")
  kind, _, network = setting.partition(",")
  network = network or "resnet50"
  recipe = {"name": "clahe" if kind == "clahe" else "standard"}
  like = "digits" if kind == "digits" else "imagenet"
  config = train_standard.common(like, recipe)
  config.data.manual_dir, config.model.num_classes = "", 0
  if kind == "digits":
    _on_plateaus(config)
    config.epochs, config.batch_size = 10, 32
    config.optimizer.learning_rate = 1e-3
  if kind in _FRAMES:
    config.data.source, config.model.num_classes = _FRAMES[kind]
    _as_printed(config, network)
  if kind == "ilsvrc30":
    config.data.source, config.model.num_classes = "ilsvrc30_train", 30
  if kind == "clahe":
    train_standard.fine_tuned(config, 0.001)
  return config.lock()


def _as_printed(config: ml_collections.ConfigDict, network: str) -> None:
  """Set Table 10's line of a network."""
  from eval.papers import printed_rows

  printed = {
    row.metric: row.value
    for row in printed_rows.paper_rows("shankar2021")
    if (row.table, row.network) == ("table10", network)
  }
  config.model.name = network
  config.model.checkpoint = f"torchvision:{_NETWORKS[network]}.IMAGENET1K_V1"
  config.optimizer = train_standard.sgd(printed["learning_rate"])
  config.batch_size = int(printed["batch_size"])
  config.epochs = int(printed["epochs"])
  _on_plateaus(config)


def _on_plateaus(config: ml_collections.ConfigDict) -> None:
  """Set ReduceLROnPlateau, whose loss is of a tenth of the training data."""
  config.schedule = {"name": "plateau", "factor": 0.1, "patience": 2}
  config.data.validation = 0.1
