"""Cards of models: facts about a model, and a text of them.

A card has the paper, size, cost, preprocessing and labels of a model, how it was
checked, its published checkpoints, and the lines to load and run it.
"""

import dataclasses
import fnmatch
import functools
import math
import pathlib
from collections.abc import Iterator

from models import catalogue
from models.convert import known
from models.detection.spec import DetectorSpec
from models.multiply_adds import CANVAS_PX
from models.segmentation.spec import SegmenterSpec
from models.spec import ModelSpec, Spec
from models.video.spec import VideoSpec

_FILE = "FILE"  # in place of an unknown checkpoint


@dataclasses.dataclass(frozen=True)
class Card:
  """Facts about a model of the catalogue.

  Attributes:
    name: name of the model.
    spec: preprocessing and labels of its weights.
    paper: its paper; '' if none.
    styles: styles of array names that `models.convert.load` knows besides ours.
    checkpoints: its known checkpoints.
    reference: the implementation that it was compared with; '' if none.
    parity: distance of its logits from the reference's, over their scale.
  """

  name: str
  spec: ModelSpec
  paper: str
  styles: tuple[str, ...]
  checkpoints: tuple[known.Known, ...]
  reference: str
  parity: str

  @property
  def input(self) -> str:
    """The model's input, in words."""
    spec = self.spec
    if isinstance(spec, DetectorSpec):
      if not spec.short_px:
        return "pictures as they are"
      return f"shorter side {spec.short_px} px, longer at most {spec.long_px}"
    if isinstance(spec, SegmenterSpec):
      return _segmented(spec)
    if not isinstance(spec, Spec):
      raise TypeError(f"{self.name} has a {type(spec).__name__}.")
    size = f"{spec.input_px} px" + (" alone" if not spec.flexible else "")
    if isinstance(spec, VideoSpec):
      return f"{spec.frames} frames x {spec.rate}, {size}"
    return size

  @property
  def geometry(self) -> str:
    """The name of its resize and crop rule; '' if it resizes pictures itself."""
    return "" if self.spec.kind in CANVAS_PX else self.spec.geometry

  @property
  def pixels(self) -> str:
    """The normalisation of pixels in 0..255, in words."""
    spec = self.spec
    factor = "1/255" if spec.scale == 1 / 255 else f"{spec.scale:g}"
    mean, std = (" ".join(f"{v:g}" for v in x) for x in (spec.mean, spec.std))
    return f"{spec.channel_order.upper()} x {factor}, mean {mean}, std {std}"


def _segmented(spec: SegmenterSpec) -> str:
  """Return a text about the pictures that a segmenter is shown."""
  size = "pictures as they are"
  if spec.height_px:
    size = f"squashed to {spec.height_px} x {spec.width_px} px"
  elif spec.short_px:
    size = f"shorter side {spec.short_px} px, longer at most {spec.long_px}"
  return f"{size}, {spec.inference}"


def make(name: str) -> Card:
  """Return the card of a model.

  Raises:
    UserError: the name is unknown; the message has the nearest one.
  """
  family = catalogue.family_of(name)
  base, _ = catalogue.split(name)
  reference, parity = parities().get(base, ("", ""))
  return Card(
    base,
    catalogue.network(base).spec,
    family.paper or paper_of(base),
    tuple(family.checkpoints),
    known.for_model(base),
    reference,
    parity,
  )


def prepared(card: Card, checkpoint: known.Known) -> Card:
  """Return a card with the preprocessing of one of its checkpoints."""
  classes = checkpoint.num_classes
  # Checkpoints of another size are interpolated.
  spec = dataclasses.replace(
    card.spec.with_classes(classes), **checkpoint.spec_fields
  )
  return dataclasses.replace(card, spec=spec)


def percent(share: float | None) -> str:
  """Return a printed accuracy in percent; '' if none is printed."""
  return "" if share is None or math.isnan(share) else f"{100 * share:.2f}"


def text(card: Card) -> str:
  """Return a card as plain text."""
  parts = [f"{card.name}: {card.spec.kind}\n", _table(dict(_facts(card)))]
  for checkpoint in card.checkpoints:
    facts = _checkpoint_facts(card, checkpoint)
    parts.append(f"\n{checkpoint.name}\n{_table(facts)}")
  if not card.checkpoints and card.spec.weights != "robust_tfds":
    parts.append("\nNo published checkpoint of this model is known here.\n")
  return "".join(parts) + "\n" + _lines(card)


def _facts(card: Card) -> Iterator[tuple[str, str]]:
  spec = card.spec
  yield "paper", card.paper
  yield "parameters", f"{spec.parameters:,}" if spec.parameters else ""
  if spec.gflops is not None:
    canvas = CANVAS_PX.get(spec.kind)
    what = f"{canvas[0]} x {canvas[1]} px" if canvas else "one input"
    yield "multiply-adds", f"{spec.gflops:g} billion of {what}"
  yield "input", card.input
  yield "crop", card.geometry
  yield "pixels", card.pixels
  yield "classes", f"{spec.num_classes} of {spec.label_space}"
  yield "weights", spec.weights
  yield "names known", ", ".join(card.styles)
  yield "source", spec.source
  yield "compared with", card.reference
  yield "parity", card.parity


def _checkpoint_facts(card: Card, checkpoint: known.Known) -> dict[str, str]:
  top1 = percent(checkpoint.top1)
  own = prepared(card, checkpoint)
  return {
    "own crop": own.geometry if own.geometry != card.geometry else "",
    "own pixels": own.pixels if own.pixels != card.pixels else "",
    "where": checkpoint.where,
    "sha256": checkpoint.says_sha256,
    "licence": checkpoint.licence or "not known here",
    "trained on": checkpoint.trained_on or "not known here",
    "printed top-1": f"{top1} %" if top1 else "",
  }


def _table(facts: dict[str, str]) -> str:
  lines = (f"  {key:14} {value}\n" for key, value in facts.items() if value)
  return "".join(lines)


def _lines(card: Card) -> str:
  """Return the lines to load and to run a model."""
  if card.spec.weights == "robust_tfds":
    return f"Trained by a run:\n  {_run(card)}\n"
  checkpoint = card.checkpoints[0].name if card.checkpoints else _FILE
  return (
    "Load:\n"
    f'  variables = models.convert.load("{card.name}", "{checkpoint}")\n'
    "Run:\n"
    f"  {_run(card)} --config.model.checkpoint={checkpoint}"
    " --config.data.manual_dir=FOLDER\n"
  )


def _run(card: Card) -> str:
  configs = {
    "imagenet1k": f"imagenet_c:{card.name}",
    "cifar10": f"cifar10_c:{card.name}",
    "coco": f"coco_c:{card.name}",
    "kinetics400": f"video_p:kinetics400_p,{card.name}",
    "cityscapes": f"segmentation_c:cityscapes_seg_c,{card.name}",
    "voc": f"segmentation_c:voc_seg_c,{card.name}",
  }
  ours = {
    "classification": "quickstart",
    "detection": "quickstart_detection",
    "segmentation": "quickstart_segmentation",
    "video": "quickstart_video",
  }
  config = configs.get(card.spec.label_space, ours[card.spec.kind])
  return f"robust-tfds run --config={config} --workdir=FOLDER"


@functools.cache
def parities() -> dict[str, tuple[str, str]]:
  """Return (reference, parity) of each model that was compared."""
  return {
    name: (reference, parity)
    for name, reference, parity in _read_rows("parity.tsv")
  }


def paper_of(name: str) -> str:
  """Return the paper of a model; '' if none.

  The first pattern of names in `papers.tsv` that fits counts.
  """
  fitting = (
    paper
    for pattern, paper in _read_rows("papers.tsv")
    if fnmatch.fnmatchcase(name, pattern)
  )
  return next(fitting, "")


@functools.cache
def _read_rows(file: str) -> tuple[tuple[str, ...], ...]:
  """Return the rows of a table beside this file, without its header."""
  path = pathlib.Path(__file__).with_name(file)
  lines = path.read_text("utf-8").splitlines()[1:]
  return tuple(tuple(line.split("\t")) for line in lines)
