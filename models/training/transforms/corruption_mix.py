"""Training on corruptions: every example under one of some names and severities.

Shankar et al.'s one-noise networks (one name), the mixes of Schiappa et al.
(clips): docs/evidence/specs/training.md sections 3 and 4. Pixels are those of
`robust_tfds.corruptions`, by the same compiled functions (elastic_transform of
edition `imagenet` was seen to differ by one level in 1 of 30,000 values).
Overlap with a benchmark must be disclosed: train on severities 1-3, test on 4
and 5.

Even under `jit`, temporal and camera perturbations of clips are drawn on the
host, by the benchmark's own code, from a few words per clip; no pixel leaves
the devices.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from models.training.transforms import checks
from robust_tfds import conditions, errors
from robust_tfds.corruptions import (
  batching,
  image,
  plugins,
  seeding,
  spec,
  video,
)

_STREAM = 0x3000
_ANY = "any"  # for clips: the edition of the paper


def corruption_mix(
  images: jax.typing.ArrayLike,
  *,
  keys: seeding.Keys,
  names: str | Iterable[str],
  severities: Sequence[int] = (1, 2, 3),
  edition: str = _ANY,
) -> jax.Array:
  """Return every picture, or clip, under one corruption at one severity, drawn
  uniformly.

  On CPUs only the drawn corruption of an example is computed; accelerators
  compute all names for all examples, so a long list is expensive there.

  Args:
    images: uint8 `[B, H, W, 3]`, RGB, 0..255; or clips `[B, T, H, W, 3]`.
    keys: uint32 `[B, 2]`, see `corruptions.example_key`; the epoch folded in.
    names: for pictures as in `corruptions.names("all")`; for clips as in
      `corruptions.video_names()` except MPEG, whose codec runs on no device. A
      temporal perturbation that leaves T' < T frames shows frame T' i // T at
      i.
    severities: severities in 1-5, from which one is drawn.
    edition: for pictures as for `corruptions.corrupt`; for clips `paper` (`any`
      is the same) or `code`.

  Returns:
    uint8 of the images' shape.

  Raises:
    UserError: pixels or keys have a wrong dtype or shape; a name or edition is
      unknown (the message suggests the nearest); there are no names; a severity
      is outside 1-5; a name is a perturbation of sequences, a codec, or changes
      the size.
  """
  images = checks.array(images)
  if images.ndim != 5:
    batch, raw = checks.pictures(images, keys)
    chosen, levels = _names(names, "pictures"), _severities(severities)
    spec.edition(edition)
    for name in chosen:
      plugins.check_edition(name, edition, "corruption_mix")
    flat = _mix_pictures(batch, raw, chosen, levels, edition)
    return flat.reshape(batch.shape)
  clips = checks.clips(images)
  checks.pictures(clips[:, 0], keys)  # refuses other shapes
  chosen, levels = _names(names, "videos"), _severities(severities)
  edition = "paper" if edition == _ANY else edition
  _check_clips(chosen, edition, clips.shape)
  raw = batching.checked_keys(keys, len(clips))
  return _mix_clips(clips, raw, chosen, levels, edition).reshape(clips.shape)


def draw(
  key: jax.Array, names: int, severities: int
) -> tuple[jax.Array, jax.Array]:
  """Draw one of the names and one of the severities, int32 scalars."""
  return (
    seeding.integers(key, (), names, _STREAM),
    seeding.integers(key, (), severities, _STREAM + 1),
  )


@functools.partial(jax.jit, static_argnums=(2, 3, 4))
def _mix_pictures(
  batch: jax.Array,
  keys: jax.Array,
  names: tuple[str, ...],
  severities: tuple[int, ...],
  edition: str,
) -> jax.Array:
  """Corrupt pictures; return uint8 `[B, H, W * 3]`."""

  def under(name: str) -> Any:
    return lambda picture, level, key: image.corrupt_flat(
      picture[None], name, level, edition=edition, keys=key[None]
    )[0]

  def corrupt(picture: jax.Array, key: jax.Array) -> jax.Array:
    choice, level = draw(key, len(names), len(severities))
    severity = jnp.asarray(severities, jnp.int32)[level]
    branches = [under(name) for name in names]
    return jax.lax.switch(choice, branches, picture, severity, key)

  return batching.over_batch(corrupt, batch, keys)


@functools.partial(jax.jit, static_argnums=(2, 3, 4))
def _mix_clips(
  clips: jax.Array,
  keys: jax.Array,
  names: tuple[str, ...],
  severities: tuple[int, ...],
  edition: str,
) -> jax.Array:
  """Perturb clips; return uint8 `[B, T, H, W * 3]`."""
  size = clips.shape[1:4]
  one = functools.partial(draw, names=len(names), severities=len(severities))
  choice, level = jax.vmap(one)(keys)
  severity = jnp.asarray(severities, jnp.int32)[level]
  drawn = _host_draws(keys, choice, severity, names, edition, size)
  frame_keys = seeding.keys_of_frames(keys, size[0])

  def under(name: str) -> Any:
    def perturbed(clip: jax.Array, severity: jax.Array, drawn: Any) -> Any:
      if name not in drawn["host"]:
        own = {"key": drawn["key"]}
      elif isinstance(plugins.video(name), plugins.OfIndices):
        frames = clip[drawn["host"][name]["index"]]
        return frames.reshape(*frames.shape[:2], -1)
      else:
        own = drawn["host"][name]
      return video.perturb_canvases(clip, name, severity, own, sizes=None)

    return perturbed

  rows: Any = {"host": drawn, "key": frame_keys}  # a tree of arrays

  def perturb(clip: Any, choice: Any, severity: Any, drawn: Any) -> jax.Array:
    branches = [under(name) for name in names]
    return jax.lax.switch(choice, branches, clip, severity, drawn)

  return batching.over_batch(perturb, clips, choice, severity, rows)


def _host_draws(
  keys: jax.Array,
  choice: jax.Array,
  severity: jax.Array,
  names: tuple[str, ...],
  edition: str,
  size: tuple[int, ...],
) -> dict[str, dict[str, jax.Array]]:
  """Return the host's draws by name, `[B, T, ...]`; 0 for other clips."""
  host_names = [n for n in names if not _is_picture_corruption(n)]
  if not host_names:
    return {}
  like = {
    n: drawn_on_host(n, 1, edition, np.zeros(2, np.uint32), size)
    for n in host_names
  }

  def zeros() -> dict[str, dict[str, np.ndarray]]:
    return jax.tree.map(
      lambda x: np.zeros((len(keys), *x.shape), x.dtype), like
    )

  def draw_batch(keys: Any, choice: Any, severity: Any) -> Any:
    out = zeros()
    for row, (key, name) in enumerate(
      zip(np.asarray(keys), np.asarray(choice))
    ):
      if names[name] in out:
        level = int(np.asarray(severity)[row])
        drawn = drawn_on_host(names[name], level, edition, key, size)
        for field, value in drawn.items():
          out[names[name]][field][row] = value
    return out

  shapes = jax.tree.map(
    lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), zeros()
  )
  drawn: dict[str, dict[str, jax.Array]] = jax.pure_callback(
    draw_batch, shapes, keys, choice, severity
  )
  return drawn


def drawn_on_host(
  name: str,
  severity: int,
  edition: str,
  key: np.ndarray,
  size: tuple[int, ...],
) -> Mapping[str, np.ndarray]:
  """Return the draws of a temporal or camera perturbation of a clip.

  Args:
    name: name of the perturbation.
    severity: 1-5.
    edition: `paper` or `code`.
    key: uint32 `[2]`.
    size: `(T, H, W)`.

  Returns:
    `index`, int32 `[T]`; or the result of `video.draws`, `[T, ...]`.
  """
  frames = size[0]
  if isinstance(plugins.video(name), plugins.OfIndices):
    index = video.frame_indices(
      frames, name, severity, edition=edition, key=key
    )
    stretched = index[np.arange(frames) * len(index) // frames]
    return {"index": stretched.astype(np.int32)}
  return video.draws(
    name,
    severity,
    edition=edition,
    sizes=np.tile(size[1:], (frames, 1)),
    keys=np.tile(key, (frames, 1)),
    numbers=np.arange(frames),
  )


def _is_picture_corruption(name: str) -> bool:
  """Return whether a perturbation of clips is a corruption of pictures."""
  return isinstance(plugins.video(name), conditions.OfImage)


def _names(
  value: str | Iterable[str], kind: conditions.Kind
) -> tuple[str, ...]:
  """Return the names in the papers' order.

  Raises:
    UserError: there are no names, or one is unknown or belongs to sequences.
  """
  family = conditions.family(kind)
  if not isinstance(value, Iterable):
    raise errors.UserError(f"names must be names of {kind}, got {value!r}.")
  listed = value if isinstance(value, str) else tuple(value)
  for name in [listed] if isinstance(listed, str) else listed:
    known = name in family.known_names if isinstance(name, str) else False
    if not known and name in conditions.SEQUENCES.known_names:
      raise errors.UserError(
        f"{name} is a perturbation of sequences, which makes many frames of a"
        f" picture; train on {family.noun}s of {kind}:"
        f" {', '.join(family.known_names)}."
      )
  names = family.resolve(listed)
  if not names:
    raise errors.UserError(
      f"names must be at least one {family.noun} of {kind}, got {value!r}."
    )
  return names


def _severities(value: Sequence[int]) -> tuple[int, ...]:
  """Return the severities 1-5, at least one."""
  listed = list(value) if isinstance(value, Iterable) else [value]
  if not listed:
    raise errors.UserError("severities must be at least one of 1-5, got none.")
  return tuple(spec.check_severity(level) for level in listed)


def _check_clips(
  names: tuple[str, ...], edition: str, shape: tuple[int, ...]
) -> None:
  """Refuse perturbations that run on no device, or change a clip's size."""
  if edition not in video.EDITIONS:
    raise errors.unknown_error(
      "edition of the video perturbations", edition, video.EDITIONS
    )
  for name in names:
    if video.is_codec(name):
      raise errors.UserError(
        f"{name} is a codec of whole videos, which runs on no device: leave it"
        " out of names, or train on a set that was prepared with it."
      )
    height, width = shape[2:4]
    sizes = np.array([[height, width]])
    after = tuple(video.sizes_after(name, edition, sizes)[0].tolist())
    if after != (height, width):
      raise errors.UserError(
        f"{name} gives frames of {after[0]}x{after[1]} px, the clips are"
        f" {height}x{width}: train on clips of that size, or leave it out."
      )
