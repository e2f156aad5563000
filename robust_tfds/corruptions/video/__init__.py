"""`perturb_video` and `frame_indices`: the 18 perturbations of videos.

Noise, blur and JPEG are corruptions of pictures in every frame, MPEG is a codec
of the whole clip: their rows in `conditions.VIDEOS` tell which. Every file of
this folder holds one of the others, as one of

  PLUGIN = plugins.OfFrames(draws, apply)          frame by frame
  PLUGIN = plugins.OfIndices(indices)              indices of frames, in order

Clips are uint8 `[T, H, W, 3]`, RGB, 0..255. Noise and angles are drawn anew for
every frame from the clip's key and the frame's number alone, so that a clip
processed in parts gives the same pixels. The facts are in docs/evidence/specs/video.md
section 1, which recommends edition `paper`; `code` follows the released code
where it differs (jumbling, box_jumbling, translation).
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from robust_tfds import conditions, errors
from robust_tfds.corruptions import (
  batching,
  canvas,
  image,
  plugins,
  seeding,
  spec,
)
from robust_tfds.corruptions.ops import layout, mpeg

EDITIONS = ("paper", "code")
FPS = 25.0  # default rate of a clip
_MIN_FPS, _MAX_FPS = 1e-3, 1e6  # FFmpeg keeps rates as ratios of C ints
_MAX_FRAMES = 10**8  # six weeks at 25 fps: an index map of 800 MB
_CHUNK = 16  # frames per compiled call: clips of any length compile once


def video_names(group: str | None = None) -> tuple[str, ...]:
  """Return names of the perturbations in the benchmark's order, or those of a group.

  Raises:
    ValueError: the group is unknown; the message suggests the nearest.
  """
  if group is None:
    return conditions.VIDEOS.names()
  return conditions.VIDEOS.members(group)


def is_temporal(name: str) -> bool:
  """Return whether a perturbation only chooses frames; see `frame_indices`."""
  return isinstance(plugins.video(name), plugins.OfIndices)


def is_codec(name: str) -> bool:
  """Return whether a perturbation is a codec of the whole clip; see `stream`."""
  return isinstance(plugins.video(name), conditions.OfCodec)


@errors.without_traceback
def perturb_video(
  video: jax.typing.ArrayLike,
  name: str,
  severity: int,
  *,
  edition: str = "paper",
  key: jax.Array,
  fps: float | None = None,
) -> batching.Image:
  """Return a clip under one perturbation.

  Args:
    video: uint8 `[T, H, W, 3]`, T >= 1.
    name: see `video_names`.
    severity: 1-5.
    edition: `paper` or `code`.
    key: JAX key, from `corruptions.example_key`.
    fps: frames per second for the MPEG encoders (it changes no pixel); None:
      25.

  Returns:
    uint8 `[T', H, W, 3]`, a JAX array where `video` is one, else NumPy. T' is T,
    but for sampling and reverse_sampling (ceil(T / rate)) and freezing (less by
    the first frame kept); translation gives 224x224 px (256x256 in edition
    `code` of clips 288 px wide).

  Raises:
    ValueError: the name, edition or severity is unknown, the clip has a wrong
      dtype or shape, or fps is not positive.
    ImportError: mpeg1 and mpeg2 need PyAV.
  """
  clip = _clip(video)
  rate = FPS if fps is None else _rate(fps)
  severity = spec.check_severity(severity)
  plugin = _plugin(name, edition)
  seeding.single(key)  # refused here even where nothing is drawn
  if isinstance(plugin, plugins.OfIndices):
    index = frame_indices(len(clip), name, severity, edition=edition, key=key)
    perturbed = jnp.asarray(clip[index])
  elif isinstance(plugin, conditions.OfCodec):
    quantiser = plugin.quantiser * severity
    perturbed = jnp.asarray(
      mpeg.roundtrip(clip, plugin.codec, plugin.container, quantiser, rate)
    )
  else:
    perturbed = perturb_frames(clip, name, severity, edition=edition, key=key)
  return batching.like_input(perturbed, video)


def perturb_frames(
  video: jax.typing.ArrayLike,
  name: str,
  severity: int,
  *,
  edition: str = "paper",
  key: jax.Array,
  first: int | np.ndarray = 0,
) -> jax.Array:
  """Return some of a clip's frames under a perturbation that works frame by frame.

  It serves videos too long to hold: the parts of a clip, one after the other,
  equal the result of `perturb_video` on the whole.

  Args:
    video: uint8 `[T, H, W, 3]`.
    name: noise, blur, jpeg or a camera perturbation.
    severity: 1-5.
    edition: `paper` or `code`.
    key: key of the whole clip.
    first: the number of the first of these frames within the clip, or the
      numbers of all of them, int `[T]`.

  Returns:
    uint8 `[T, H', W', 3]`.

  Raises:
    ValueError: as for `perturb_video`, or the perturbation is one of the whole
      clip.
  """
  clip = _clip(video)
  severity = spec.check_severity(severity)
  plugin = _plugin(name, edition)
  key = seeding.single(key)
  if isinstance(plugin, plugins.OfIndices | conditions.OfCodec):
    raise _not_frame_by_frame(name)
  numbers = _numbers(first, len(clip))
  sizes = np.tile(np.array(clip.shape[1:3]), (len(clip), 1))
  parts = []
  for start in range(0, len(clip), _CHUNK):
    part = clip[start : start + _CHUNK]
    spare = _CHUNK - len(part) if len(clip) > _CHUNK else 0
    full = np.concatenate([part, np.repeat(part[:1], spare, axis=0)])
    drawn = draws(
      name,
      severity,
      edition=edition,
      sizes=np.resize(sizes, (len(full), 2)),
      keys=np.tile(np.asarray(key), (len(full), 1)),
      numbers=np.resize(numbers[start : start + _CHUNK], len(full)),
    )
    parts.append(
      _whole_frames(full, name, severity, edition, drawn)[: len(part)]
    )
  return parts[0] if len(parts) == 1 else jnp.concatenate(parts)


def draws(
  name: str,
  severity: int,
  *,
  edition: str,
  sizes: np.ndarray,
  keys: np.ndarray,
  numbers: np.ndarray,
) -> plugins.Arrays:
  """Return the host's draws for frames that `perturb_canvases` needs.

  Args:
    name: a perturbation that works frame by frame.
    severity: 1-5.
    edition: `paper` or `code`.
    sizes: int `[N, 2]`, (height, width) of every frame.
    keys: uint32 `[N, 2]`, the key of every frame's clip.
    numbers: int `[N]`, the number of every frame within its clip.

  Returns:
    Arrays `[N, ...]` by name.
  """
  plugin = _plugin(name, edition)
  frame_keys = seeding.frame_keys(keys.T, numbers)
  if isinstance(plugin, plugins.OfFrames):
    frames = plugins.Frames(sizes, severity, edition, keys, frame_keys)
    return plugin.draws(frames)
  return {"key": frame_keys}


def perturb_canvases(
  canvases: batching.Image,
  name: str,
  severity: int | jax.Array,
  drawn: Mapping[str, batching.Image],
  *,
  sizes: batching.Image | None,
) -> jax.Array:
  """Return frames of any clips under one perturbation; nothing leaves the devices.

  Inside another function's `jit` pass the result to the next compiled function,
  see `image.corrupt_flat`.

  Args:
    canvases: uint8 `[N, H, W, 3]`, every frame in its top-left corner.
    name: a perturbation that works frame by frame.
    severity: 1-5, may be traced.
    drawn: result of `draws` for these frames.
    sizes: int32 `[N, 2]`, the sizes given to `draws`; None if the frames fill
      their canvases.

  Returns:
    uint8 `[N, H', W' * 3]`; frames have the sizes of `sizes_after`, outside
    them it is 0 or undefined.
  """
  plugin = plugins.video(name)
  if isinstance(plugin, plugins.OfFrames):
    return _compiled(name)(canvases, sizes, dict(drawn))
  if not isinstance(plugin, conditions.OfImage):
    raise _not_frame_by_frame(name)
  return image.corrupt_flat(
    canvases,
    plugin.image,
    severity,
    edition=plugin.edition,
    keys=jnp.asarray(drawn["key"]),
    sizes=sizes,
  )


def sizes_after(name: str, edition: str, sizes: np.ndarray) -> np.ndarray:
  """Return (height, width) of frames after a perturbation: int `[N, 2]`.

  Args:
    name: a perturbation that works frame by frame.
    edition: `paper` or `code`.
    sizes: sizes before it.
  """
  plugin = _plugin(name, edition)
  if isinstance(plugin, plugins.OfFrames):
    return plugin.sizes(edition, sizes)
  return sizes


def frame_indices(
  num_frames: int,
  name: str,
  severity: int,
  *,
  edition: str = "paper",
  key: jax.typing.ArrayLike,
) -> np.ndarray:
  """Return a temporal perturbation as an index map, to apply before decoding.

  Args:
    num_frames: number of frames of the whole clip, at least 1.
    name: see `video_names("temporal")`.
    severity: 1-5.
    edition: `paper` or `code`.
    key: JAX key; sampling and reverse_sampling draw nothing from it.

  Returns:
    int64 `[T']`: index of the clip's frame that is shown at each moment. For T'
    see `perturb_video`.

  Raises:
    ValueError: the name, edition or severity is unknown, the perturbation is
      not temporal, or there are no frames.
  """
  severity = spec.check_severity(severity)
  plugin = _plugin(name, edition)
  clip_key = seeding.host_key(key)
  if not isinstance(plugin, plugins.OfIndices):
    raise errors.UserError(
      f"{name} is not temporal; temporal are {', '.join(video_names('temporal'))}."
    )
  count = conditions.whole_number(num_frames)
  if count is None or not 1 <= count <= _MAX_FRAMES:
    raise errors.UserError(
      "num_frames must be a whole number: a clip has at least one frame and at"
      f" most {_MAX_FRAMES:,}; got {num_frames!r}."
    )
  clip = plugins.Clip(count, severity, edition, clip_key)
  return np.asarray(plugin.indices(clip))


def stream(
  frames: Iterable[np.ndarray], name: str, severity: int, fps: float = FPS
) -> Iterator[np.ndarray]:
  """Yield a video through a codec, frame by frame; only the encoded video is held.

  Args:
    frames: each uint8 `[H, W, 3]`.
    name: a perturbation with `is_codec`.
    severity: 1-5.
    fps: frames per second for the encoder.

  Yields:
    uint8 `[H, W, 3]`, as many as there were.

  Raises:
    UserError: the name or severity is unknown, or the perturbation is no codec.
    ImportError: PyAV is not installed.
  """
  yield from mpeg.stream(frames, *_codec(name, severity), fps)


def encoder(name: str, severity: int, fps: float = FPS) -> mpeg.Encoder:
  """Return an encoder that takes frames one by one; `mpeg.frames_at` decodes.

  Args:
    name: a perturbation with `is_codec`.
    severity: 1-5.
    fps: frames per second for the encoder.

  Raises:
    UserError: as for `stream`.
  """
  return mpeg.Encoder(*_codec(name, severity), fps)


def _codec(name: str, severity: int) -> tuple[str, str, int]:
  """Return FFmpeg's encoder, its container and the quantiser."""
  plugin = plugins.video(name)
  severity = spec.check_severity(severity)
  if not isinstance(plugin, conditions.OfCodec):
    codecs = ", ".join(n for n in video_names() if is_codec(n))
    raise errors.UserError(f"{name} is not a codec; codecs are {codecs}.")
  return plugin.codec, plugin.container, plugin.quantiser * severity


def _not_frame_by_frame(name: str) -> errors.UserError:
  return errors.UserError(
    f"{name} needs the whole clip at once; use perturb_video, or frame_indices"
    " for temporal ones."
  )


def _numbers(first: int | np.ndarray, count: int) -> np.ndarray:
  """Return the numbers of `count` frames: int `[count]`."""
  numbers = np.asarray(first)
  if numbers.ndim == 0:
    numbers = numbers + np.arange(count)
  if (
    np.shape(numbers) != (count,)
    or numbers.dtype.kind not in "iu"
    or numbers.min() < 0
  ):
    raise errors.UserError(
      f"{count} frames need {count} whole numbers from 0, got"
      f" {numbers.dtype}{list(np.shape(numbers))}: {first!r}."
    )
  return numbers


@functools.cache
def _compiled(name: str) -> Callable[..., jax.Array]:
  plugin = plugins.video(name)
  assert isinstance(plugin, plugins.OfFrames)

  def perturb(
    canvases: jax.Array, sizes: jax.Array | None, drawn: dict[str, jax.Array]
  ) -> jax.Array:
    def perturb_frame(
      frame: jax.Array, size: layout.Size, *values: jax.Array
    ) -> jax.Array:
      return plugin.apply(frame, size, dict(zip(drawn, values, strict=True)))

    return batching.over_pictures(
      perturb_frame, canvases, sizes, *drawn.values()
    )

  return jax.jit(perturb)


def _whole_frames(
  clip: np.ndarray,
  name: str,
  severity: int,
  edition: str,
  drawn: plugins.Arrays,
) -> jax.Array:
  """Return frames of one clip: uint8 `[T, H', W', 3]`."""
  height, width = clip.shape[1:3]
  padded, sizes = canvas.stack(clip)
  same = padded.shape == clip.shape
  levels = perturb_canvases(
    padded, name, severity, drawn, sizes=None if same else sizes
  )
  after = sizes_after(name, edition, np.array([[height, width]]))[0]
  # Cut on the host: a device slice would compile once per size.
  cut = np.asarray(levels)[:, : after[0], : 3 * after[1]]
  return jnp.asarray(cut.reshape(len(clip), *after, 3))


def _rate(fps: object) -> float:
  """Return frames per second as a float."""
  number = np.asarray(fps)
  plain = number.ndim == 0 and number.dtype.kind in "iuf"
  if not plain or not _MIN_FPS <= float(number) <= _MAX_FPS:
    raise errors.UserError(
      "fps must be a positive number of frames per second, from"
      f" {_MIN_FPS:g} to {_MAX_FPS:g}, got {fps!r}. Leave it out for {FPS:g}."
    )
  return float(number)


def _plugin(name: str, edition: str) -> plugins.VideoPlugin:
  plugin = plugins.video(name)
  if not isinstance(edition, str) or edition not in EDITIONS:
    raise errors.unknown_error(
      "edition of the video perturbations", edition, EDITIONS
    )
  return plugin


def _clip(video: jax.typing.ArrayLike) -> np.ndarray:
  clip = batching.as_array(video)
  if clip.dtype != np.uint8 or clip.ndim != 4 or clip.shape[3] != 3:
    raise errors.UserError(
      f"A clip is uint8 [T, H, W, 3], got {clip.dtype} {list(clip.shape)}."
    )
  if not clip.size:
    raise errors.UserError(
      f"A clip has at least one frame, got {list(clip.shape)}."
    )
  return clip
