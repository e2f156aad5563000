"""Specs of models: preprocessing of their pictures, and labels of their outputs.

A spec says how a picture is resized and cropped (on the host), how uint8 pixels are
normalised (on the device), and which labels the outputs stand for. `ModelSpec` has
the fields of every kind of model. `Spec` is for classifiers of pictures;
`VideoSpec` for clips, `DetectorSpec` for detectors and `SegmenterSpec` for networks
that label pixels lie in the folders of their kinds.
"""

import dataclasses
import fractions
import functools
import importlib
from collections.abc import Mapping
from typing import (
  Annotated,
  Any,
  ClassVar,
  Literal,
  Self,
  cast,
  get_args,
  get_type_hints,
)

import jax
import jax.numpy as jnp
import numpy as np
import pydantic

from models.checks import arguments
from robust_tfds import errors

Kind = Literal["classification", "detection", "segmentation", "video"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_FRACTIONS = ("fraction", "centre_fraction")
_SIZES = {
  "input_px",
  "frames",
  "short_px",
  "long_px",
  "height_px",
  "width_px",
  "window_px",
}
_RESIZE_PX, _CROP_PX = 256, 224  # ImageNet's shorter side, and its crop
_LARGEST_DENOMINATOR = 10_000  # for shares of a side in px


def _plain(value: Any) -> Any:
  """Replace numpy's scalars and arrays; lists become tuples, which are hashable."""
  if isinstance(value, (np.generic, np.ndarray)):
    value = value.tolist()
  return tuple(value) if isinstance(value, list) else value


# The type of a field, its limits, and a description for refusals.
Text = Annotated[str, pydantic.Field(description="a text")]
Flag = Annotated[
  bool,
  pydantic.BeforeValidator(_plain),
  pydantic.Field(description="True or False"),
]
Whole = Annotated[
  int,
  pydantic.BeforeValidator(_plain),
  pydantic.Field(description="a whole number"),
]
From0 = Annotated[
  int,
  pydantic.BeforeValidator(_plain),
  pydantic.Field(ge=0, description="a whole number of 0 or more"),
]
From1 = Annotated[
  int,
  pydantic.BeforeValidator(_plain),
  pydantic.Field(ge=1, description="a whole number of 1 or more"),
]
_Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]
Number = Annotated[
  int | _Finite,
  pydantic.BeforeValidator(_plain),
  pydantic.Field(description="a finite number"),
]
Three = Annotated[
  tuple[int | _Finite, int | _Finite, int | _Finite],
  pydantic.BeforeValidator(_plain),
  pydantic.Field(
    description="three finite numbers, one per channel, e.g. (0.5, 0.5, 0.5)"
  ),
]
_Share = Annotated[
  float,
  pydantic.BeforeValidator(_plain),
  pydantic.Field(
    gt=0, le=1, description="a share of a side: above 0, at most 1"
  ),
]
_Order = Annotated[
  Literal["rgb", "bgr"],
  pydantic.Field(description="one of ('rgb', 'bgr')"),
]
_Rule = Annotated[
  Literal["squash", "short_side", "fraction", "centre_fraction", "whole"],
  pydantic.Field(
    description="one of ('squash', 'short_side', 'fraction', 'centre_fraction',"
    " 'whole')"
  ),
]
_Outputs = Annotated[
  Literal["auto", "logits", "probabilities", "any"],
  pydantic.Field(
    description="one of ('auto', 'logits', 'probabilities', 'any')"
  ),
]
_Interpolation = Annotated[
  Literal["bilinear", "bicubic"],
  pydantic.Field(description="one of ('bilinear', 'bicubic')"),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelSpec:
  """Pixels, labels and published facts of a model of any kind.

  Pixels `p` (0..255, in `channel_order`) enter as `(p * scale - mean) / std`.

  Attributes:
    kind: kind of the model.
    item_axes: number of axes of one input: 3 for a picture `[H, W, 3]`, 4 for a
      clip `[T, H, W, 3]`.
    least_classes: smallest sensible number of classes.
    channel_order: `rgb` or `bgr`; `mean` and `std` are in this order.
    scale: factor on 0..255 pixels before mean and std.
    mean: subtracted value of each channel.
    std: divisor of each channel.
    label_space: meaning of the class ids: `imagenet1k` is the 1000 classes in
      the order of their sorted WordNet ids.
    num_classes: number of logits, or of classes of objects.
    weights: layout and preprocessing family of the public checkpoint, e.g.
      `torchvision`, `caffe`, `cadene`, `timm`; `robust_tfds` if trained here.
    parameters: published count of trainable numbers with `num_classes` classes;
      None if none is published.
    gflops: multiply-adds of one input in billions, counted by one rule for all
      models (`models/multiply_adds.py`); None if they were not counted.
    source: the publication of these values.
  """

  kind: ClassVar[Kind]
  item_axes: ClassVar[int] = 3
  least_classes: ClassVar[int] = 2

  channel_order: _Order = "rgb"
  scale: Number = 1 / 255
  # torchvision's presets: the statistics of ImageNet's training pictures.
  mean: Three = (0.485, 0.456, 0.406)
  std: Three = (0.229, 0.224, 0.225)
  label_space: Text = "custom"
  num_classes: Whole = 1000
  weights: Text = "torchvision"
  parameters: Annotated[
    Whole | None, pydantic.Field(description="a whole number or None")
  ] = None
  gflops: Annotated[
    Number | None, pydantic.Field(description="a finite number or None")
  ] = None
  source: Text = ""

  def __post_init__(self) -> None:
    """Refuse invalid values.

    Raises:
      UserError: the message names the field, what it got and what is expected.
    """
    arguments.num_classes(self.num_classes, self.least_classes)
    for name, value in self.checked(vars(self)).items():
      object.__setattr__(self, name, value)
    if min(self.std) <= 0 or self.scale == 0:
      raise errors.UserError(
        f"Got scale {self.scale} and std {self.std}, expected a factor other than"
        " 0 and a positive value per channel."
      )

  @property
  def clip_frames(self) -> int:
    """The number of frames of one input; 0 for a picture."""
    return 0

  @property
  def stated_outputs(self) -> str:
    """What the numbers of its answers are; `auto` if the spec does not say."""
    return "auto"

  @property
  def takes_whole(self) -> bool:
    """Whether it is shown pictures of their own sizes, uncropped."""
    return False

  @property
  def fixed_px(self) -> int | None:
    """The only side that the network takes; None: any size."""
    return None

  @property
  def usual_px(self) -> int:
    """The side of the pictures that the network sees; 0: the data's own."""
    return 0

  @property
  def geometry(self) -> str:
    """The resize and crop rule, a name from `robust_tfds/building/geometry.py`.

    Raises:
      UserError: the model resizes its pictures itself.
    """
    raise errors.UserError(
      f"A model of kind {self.kind} resizes its pictures itself and has no crop"
      " rule. Set data.geometry to a rule, or leave it out."
    )

  def normalize(self, batch: jax.typing.ArrayLike) -> jax.Array:
    """Map RGB `[..., H, W, 3]` in 0..255 to the network's float32 pixels."""
    pixels = jnp.asarray(batch).astype(jnp.float32)
    if self.channel_order == "bgr":
      pixels = pixels[..., ::-1]
    mean = jnp.asarray(self.mean, jnp.float32)
    std = jnp.asarray(self.std, jnp.float32)
    return (pixels * jnp.float32(self.scale) - mean) / std

  def normalize_on_host(self, batch: np.ndarray) -> np.ndarray:
    """Compute `normalize` in numpy."""
    pixels = batch.astype(np.float32)
    if self.channel_order == "bgr":
      pixels = pixels[..., ::-1]
    mean = np.asarray(self.mean, np.float32)
    std = np.asarray(self.std, np.float32)
    out: np.ndarray = (pixels * np.float32(self.scale) - mean) / std
    return out

  def check_shape(self, name: str, shape: tuple[int, ...]) -> None:
    """Refuse a batch whose shape the model does not take.

    Args:
      name: name of the model, for the error.
      shape: shape of the batch.

    Raises:
      UserError: the model does not take the shape.
    """
    axes = "[B, H, W, 3]" if self.item_axes == 3 else "[B, T, H, W, 3]"
    if len(shape) != self.item_axes + 1 or shape[-1] != 3:
      raise errors.UserError(
        f"{name} got a batch of shape {shape}, expected {axes}."
      )

  def batch_shape(self, count: int, side_px: int) -> tuple[int, ...]:
    """Return the shape of the model's batches.

    Args:
      count: number of inputs in the batch.
      side_px: side of the data's pictures, for models that take any size.
    """
    side = self.fixed_px or side_px
    return (count, side, side, 3)

  def with_classes(self, num_classes: int | None) -> Self:
    """Return a spec with another head, whose labels are the user's own.

    Raises:
      UserError: it is no whole number, or below `least_classes`.
    """
    if num_classes is None:
      return self
    num_classes = arguments.num_classes(num_classes, self.least_classes)
    if num_classes == self.num_classes:
      return self
    return dataclasses.replace(
      self, num_classes=num_classes, label_space="custom", parameters=None
    )

  def with_fields(self, fields: Mapping[str, Any]) -> Self:
    """Return a spec with some values of the user's own.

    Args:
      fields: values by field, as in a config.

    Raises:
      UserError: a field is unknown (the message has the nearest one), a value is
        invalid, or the network does not take a size.
    """
    fields = self.checked(fields)
    rest = {k: v for k, v in fields.items() if k != "num_classes"}
    self._check_sizes(rest)
    if _SIZES & rest.keys():
      rest.setdefault("gflops", None)  # counted at another size
      rest = self._scale_sizes(rest)
    spec = self.with_classes(fields.get("num_classes"))
    return dataclasses.replace(spec, **rest)

  @classmethod
  def fields(cls) -> dict[str, pydantic.fields.FieldInfo]:
    """Return the type and description of each field, in order."""
    return _schema(cast(Any, cls)).model_fields

  @classmethod
  def checked(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return valid values, without numpy's types and with tuples for lists.

    Args:
      fields: values by field.

    Raises:
      UserError: a field is unknown (the message has the nearest one), or a value
        is invalid.
    """
    known = cls.fields()
    for name in fields:
      if name not in known:
        raise errors.unknown_error(f"field of a {cls.__name__}", name, known)
    try:
      valid = _schema(cast(Any, cls)).model_validate(dict(fields))
    except pydantic.ValidationError as e:
      name = str(e.errors(include_url=False)[0]["loc"][0])
      raise errors.UserError(
        f"Got {name} {fields[name]!r}, expected {known[name].description}."
      ) from e
    return {name: getattr(valid, name) for name in fields}

  def _check_sizes(self, fields: Mapping[str, Any]) -> None:
    """Refuse sizes that the network does not take; here it takes all."""

  def _scale_sizes(self, fields: dict[str, Any]) -> dict[str, Any]:
    """Return `fields` with the sizes that follow from them; here none do."""
    return fields


@functools.cache
def _schema(kind: type[ModelSpec]) -> type[pydantic.BaseModel]:
  """Return a schema of the fields of a spec, all of them optional."""
  hints = get_type_hints(kind, include_extras=True)
  fields: dict[str, Any] = {
    f.name: (hints[f.name], None) for f in dataclasses.fields(kind)
  }
  strict = pydantic.ConfigDict(strict=True)
  return pydantic.create_model(kind.__name__, __config__=strict, **fields)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec(ModelSpec):
  """Preprocessing, labels and published size of a classifier of pictures.

  Attributes:
    input_px: side of the square picture that the network sees.
    resize: `short_side` (the shorter side becomes `resize_px`, then a centre
      crop of `input_px`), `squash` (both sides become `resize_px`, then the
      crop), `fraction` (a centre crop of `crop_fraction` of each side, then
      both sides become `input_px`), `centre_fraction` (a centre square of
      `crop_fraction` of the shorter side, then both sides become `input_px`:
      EfficientNet's, whose fraction is `input_px / (input_px + 32)`), `whole`
      (pictures as they are stored, for a custom metric alone).
    resize_px: see `resize`; unused for the two fractions. If it is left out, its
      ratio to `input_px` is ImageNet's 256 / 224: 128 for 112, 37 for 32.
    crop_fraction: see `resize`; used for the two fractions alone.
    interpolation: `bilinear` or `bicubic`.
    flexible: whether the network accepts other sizes than `input_px`.
    outputs: `logits`, `probabilities` (each row sums to 1, as after a softmax),
      or `auto`: decided by the probe before a run. `any`: arrays of any shape, for
      a custom metric.
  """

  kind: ClassVar[Kind] = "classification"

  input_px: From1 = 224
  resize: _Rule = "short_side"
  resize_px: From1 = cast(int, None)  # `__post_init__` fills it in
  crop_fraction: _Share = 1.0
  interpolation: _Interpolation = "bilinear"
  label_space: Text = "imagenet1k"
  flexible: Flag = True
  outputs: _Outputs = "auto"

  def __post_init__(self) -> None:
    """Fill in `resize_px`; refuse a crop that does not fit."""
    if self.resize_px is None:
      side = _CROP_PX if self.resize in _FRACTIONS else self.input_px
      whole = isinstance(side, (int, np.integer))  # else refused below
      px = round(side * _RESIZE_PX / _CROP_PX) if whole else _RESIZE_PX
      object.__setattr__(self, "resize_px", px)
    super().__post_init__()
    if self.resize not in _FRACTIONS and self.resize_px < self.input_px:
      raise errors.UserError(
        f"Got resize_px {self.resize_px}, expected at least input_px"
        f" {self.input_px}: the crop must lie inside the picture."
      )

  @property
  def stated_outputs(self) -> str:
    """The value of `outputs`."""
    return self.outputs

  @property
  def takes_whole(self) -> bool:
    """Whether `resize` is `whole`."""
    return self.resize == "whole"

  @property
  def fixed_px(self) -> int | None:
    """The value of `input_px` if the network takes no other size."""
    return None if self.flexible else self.input_px

  @property
  def usual_px(self) -> int:
    """The side of the pictures that the network sees: `input_px`."""
    return self.input_px

  @property
  def geometry(self) -> str:
    """The rule as a name from `geometry.py`, e.g. `short256_crop224`."""
    end = "_bicubic" if self.interpolation == "bicubic" else ""
    if self.resize == "whole":
      return "whole"
    if self.resize == "fraction":
      return f"fraction{self.crop_fraction}_{self.input_px}{end}"
    if self.resize == "centre_fraction":
      share = _ratio(self.crop_fraction)
      part = f"{share.numerator}of{share.denominator}"
      return f"centre{part}_{self.input_px}{end}"
    rule = {"squash": "squash", "short_side": "short"}[self.resize]
    return f"{rule}{self.resize_px}_crop{self.input_px}{end}"

  def _check_sizes(self, fields: Mapping[str, Any]) -> None:
    px = fields.get("input_px", self.input_px)
    if not self.flexible and (px != self.input_px or fields.get("flexible")):
      raise errors.UserError(
        f"Got {fields_text(fields, 'input_px', 'flexible')}, and this network"
        f" takes only pictures of {self.input_px} px. Choose a model of that size."
      )

  def _scale_sizes(self, fields: dict[str, Any]) -> dict[str, Any]:
    """Return `fields` with a `resize_px` in proportion to `input_px`."""
    unused = fields.get("resize", self.resize) in _FRACTIONS
    if unused or "input_px" not in fields or "resize_px" in fields:
      return fields
    px = round(fields["input_px"] * self.resize_px / self.input_px)
    return {**fields, "resize_px": px}

  def check_shape(self, name: str, shape: tuple[int, ...]) -> None:
    """Refuse a batch whose shape or picture size the model does not take.

    Raises:
      UserError: the model does not take the shape.
    """
    super().check_shape(name, shape)
    high, wide, _ = shape[-3:]
    side = self.fixed_px
    if side is not None and (high, wide) != (side, side):
      raise errors.UserError(
        f"{name} got pictures of {high} x {wide}, expected {side} x {side}:"
        " resize them by its spec first."
      )


def fields_text(fields: Mapping[str, Any], *names: str) -> str:
  """Return fields and their values, for errors."""
  return " and ".join(f"{n} {fields[n]}" for n in names if n in fields)


def _ratio(value: float) -> fractions.Fraction:
  """Return a float as a simple fraction: 240 / 272 is 15/17, 0.9 is 9/10."""
  near = fractions.Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
  return near if float(near) == value else fractions.Fraction(str(value))


def __getattr__(name: str) -> Any:
  """Return a spec of another kind, whose module imports this one."""
  rooms = {
    "DetectorSpec": "detection",
    "SegmenterSpec": "segmentation",
    "VideoSpec": "video",
  }
  if name not in rooms:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
  room = importlib.import_module(f"{__package__}.{rooms[name]}.spec")
  return getattr(room, name)


@dataclasses.dataclass(frozen=True)
class Variant:
  """A row of a family's table.

  Attributes:
    spec: preprocessing and labels of the published weights.
    options: keyword arguments of the family's `Network` besides `num_classes`
      and `rngs`.
  """

  spec: ModelSpec
  options: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  def __hash__(self) -> int:
    """Return a hash by value; options are plain data."""
    return hash((self.spec, repr(sorted(self.options.items()))))
