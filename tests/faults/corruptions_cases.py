"""The functions of `robust_tfds.corruptions`."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.faults.case import Case

_NAN = float("nan")


def cases() -> Iterator[Case]:
  """Function by function."""
  yield from _corrupt()
  yield from _batch()
  yield from _keys()
  yield from _sequences()
  yield from _videos()


def _picture(side: int = 32) -> np.ndarray:
  rng = np.random.default_rng(0)
  return rng.integers(0, 256, (side, side, 3), np.uint8)


def _key() -> Any:
  from robust_tfds import corruptions

  return corruptions.example_key(0, "d", "fog", 3, "x")


def _act(call: Callable[[Any], Any], _: pathlib.Path) -> Any:
  from robust_tfds import corruptions

  return np.asarray(call(corruptions))


def _case(
  kind: str, call: Callable[[Any], Any], *names: str, right=None
) -> Case:
  return Case(kind, functools.partial(_act, call), names, right)


def _rows(
  make: Callable[..., Callable[[Any], Any]], *table: Sequence[Any]
) -> Iterator[Case]:
  """A case a row: its kind, what `make` takes by name, words, a check."""
  for kind, inputs, *rest in table:
    words = [item for item in rest if isinstance(item, str)]
    right = next((item for item in rest if callable(item)), None)
    yield _case(kind, make(**inputs), *words, right=right)


def _shape(*shape: int) -> Callable[[np.ndarray], bool]:
  return lambda got: got.shape == shape


def _one(
  image: Any = None,
  name: Any = "brightness",
  severity: Any = 3,
  key: Any = ...,
  **kwargs: Any,
):
  def call(corruptions: Any) -> Any:
    pixels = _picture() if image is None else image
    it = _key() if key is ... else key
    kwargs.setdefault("edition", "any")
    level = severity() if callable(severity) else severity
    return corruptions.corrupt(pixels, name, level, key=it, **kwargs)

  return call


def _like(severity: int) -> Callable[[np.ndarray], bool]:
  """Whether pixels are those of a severity that was said as an int."""

  def right(got: np.ndarray) -> bool:
    from robust_tfds import corruptions

    want = corruptions.corrupt(
      _picture(), "brightness", severity, edition="any", key=_key()
    )
    return np.array_equal(got, np.asarray(want))

  return right


def _jnp(value: Any) -> Callable[[], Any]:
  def make() -> Any:
    import jax.numpy as jnp

    return jnp.asarray(value)

  return make


def _corrupt() -> Iterator[Case]:
  for value in (0, 6, 9, -3, 1.5, 3.0, _NAN, "3", None, True, [3], 10**30):
    yield _case(
      f"severity {value!r}",
      _one(severity=value),
      "severity",
      right=_like(3) if value == 3.0 else None,
    )
  for value in (0, 9, -3, 6):
    yield _case(
      f"severity numpy {value}", _one(severity=np.int64(value)), "severity"
    )
    yield _case(
      f"severity array {value}", _one(severity=np.asarray(value)), "severity"
    )
    yield _case(f"severity jax {value}", _one(severity=_jnp(value)), "severity")
  yield from _rows(
    _one,
    ("severity a vector", {"severity": np.array([1, 2])}, "severity"),
    ("severity a jax vector", {"severity": _jnp([3])}, "severity"),
    ("severity a float array", {"severity": np.asarray(2.5)}, "severity"),
    ("severity a jax float", {"severity": _jnp(2.5)}, "severity"),
    ("odd: severity of numpy", {"severity": np.int32(3)}, _like(3)),
    ("odd: severity of jax", {"severity": _jnp(3)}, _like(3)),
    ("odd: grey", {"image": _picture()[..., 0]}, _shape(32, 32, 3)),
    ("odd: not contiguous", {"image": _picture(64)[::2, ::2]}, _shape(32, 32, 3)),
    ("odd: one pixel", {"image": _picture(1)}, _shape(1, 1, 3)),
  )  # fmt: skip
  for value in (9, 0, -3):
    yield _case(
      f"severity traced {value}",
      functools.partial(_traced, value),
      "severity",
      right=_no_neighbour,
    )
  for kind, value in (
    ("float", _picture() / 255.0),
    ("float of 0..255", _picture().astype(np.float32)),
    ("int64", _picture().astype(np.int64)),
    ("uint16", _picture().astype(np.uint16)),
    ("bool", _picture() > 5),
    ("of four channels", np.zeros((32, 32, 4), np.uint8)),
    ("of two channels", np.zeros((32, 32, 2), np.uint8)),
    ("a batch", np.zeros((2, 32, 32, 3), np.uint8)),
    ("one row", np.zeros(32, np.uint8)),
    ("empty", np.zeros((0, 32, 3), np.uint8)),
    ("None", "None"),
    ("a list", [[1, 2], [3, 4]]),
    ("CHW", np.zeros((3, 32, 32), np.uint8)),
  ):
    yield _case(f"image {kind}", _one(image=value), "image|uint8|shape|channel")
  for value in ("fogg", "", "FOG", None, 5, "../fog", "fog_3", "clean"):
    yield _case(f"name {value!r}", _one(name=value), "corruption|name")
  for value in ("imagenett", None, "", 5):
    yield _case(f"edition {value!r}", _one(edition=value), "edition")
  for kind, value in (
    ("None", None),
    ("an int", 0),
    ("a float array", np.zeros(2)),
    ("of three words", np.zeros(3, np.uint32)),
    ("text", "key"),
  ):
    yield _case(f"key {kind}", _one(key=value), "key")


def _traced(value: int, corruptions: Any) -> Any:
  import jax

  @jax.jit
  def run(images, severity):
    return corruptions.corrupt_batch(
      images, "brightness", severity, edition="any", keys=_key()[None]
    )[0]

  return run(_picture()[None], value)


def _no_neighbour(got: np.ndarray) -> bool:
  """Pixels that can be mistaken for no severity's, nor for the clean picture."""
  return not any(_like(s)(got) for s in range(1, 6)) and not np.array_equal(
    got, _picture()
  )


def _batch() -> Iterator[Case]:
  def call(images=None, sizes=None, keys=..., severity=3, name="brightness"):
    def run(corruptions):
      import jax.numpy as jnp

      pixels = np.stack([_picture()] * 2) if images is None else images
      some = jnp.stack([_key()] * 2) if keys is ... else keys
      return corruptions.corrupt_batch(
        pixels, name, severity, edition="any", keys=some, sizes=sizes
      )

    return run

  whole = [[32, 32], [20, 30]]
  for kind, value in (
    ("zero", [[0, 32], [20, 30]]),
    ("negative", [[-5, 32], [20, 30]]),
    ("beyond the canvas", [[33, 32], [20, 30]]),
    ("fractions", [[31.5, 32], [20, 30]]),
    ("NaN", [[_NAN, 32], [20, 30]]),
    ("of one picture", [[32, 32]]),
    ("of three pictures", whole + [[5, 5]]),
    ("flat", [32, 32, 20, 30]),
    ("of three numbers", [[32, 32, 3], [20, 30, 3]]),
    ("text", "x"),
    ("a number", 32),
  ):
    for make, how in ((np.asarray, "numpy"), (list, "list")):
      if how == "list" and not isinstance(value, list):
        continue
      yield _case(f"sizes {kind}, {how}", call(sizes=make(value)), "size")
  nothing = np.zeros((0, 32, 32, 3), np.uint8)
  yield from _rows(
    call,
    ("keys of one picture", {"keys": np.zeros((1, 2), np.uint32)}, "key"),
    ("keys of three words", {"keys": np.zeros((2, 3), np.uint32)}, "key"),
    ("keys None", {"keys": None}, "key"),
    ("images of floats", {"images": np.zeros((2, 8, 8, 3))}, "image|uint8"),
    ("one image", {"images": _picture()}, "image|shape"),
    ("a severity for each", {"severity": np.array([1, 2])}, "severity"),
    ("severity 9 of an array", {"severity": np.asarray(9)}, "severity"),
    ("no images", {"images": nothing, "keys": np.zeros((0, 2), np.uint32)},
     "image", _shape(0, 32, 32, 3)),
    ("odd: whole sizes as floats", {"sizes": np.array(whole, np.float32)},
     "size", _shape(2, 32, 32, 3)),
    ("odd: sizes", {"sizes": np.array(whole, np.uint8)}, _shape(2, 32, 32, 3)),
  )  # fmt: skip


def _keys() -> Iterator[Case]:
  def call(*args, **kwargs):
    return lambda corruptions: _key_data(
      corruptions.example_key(*args, **kwargs)
    )

  for kind, args, word in (
    ("seed text", ("0", "d", "fog", 3, "x"), "seed"),
    ("seed fraction", (0.5, "d", "fog", 3, "x"), "seed"),
    ("seed None", (None, "d", "fog", 3, "x"), "seed"),
    ("severity 9", (0, "d", "fog", 9, "x"), "severity"),
    ("severity fraction", (0, "d", "fog", 2.5, "x"), "severity"),
    ("id None", (0, "d", "fog", 3, None), "example_id|id"),
    ("id a number", (0, "d", "fog", 3, 7), "example_id|id"),
    ("dataset None", (0, None, "fog", 3, "x"), "dataset"),
  ):  # fmt: skip
    same = {"seed text": "x", "id a number": "7"}.get(kind)
    right = functools.partial(_same_key, same) if same else None
    yield _case(f"example_key: {kind}", call(*args), word, right=right)
  yield _case(
    "example_key: frame -1 of text",
    call(0, "d", "fog", 3, "x", frame="a"),
    "frame",
  )
  for kind, seed in (("negative", -1), ("of 70 bits", 2**70)):
    yield _case(
      f"example_key: odd: seed {kind}",
      call(seed, "d", "fog", 3, "x"),
      "seed",
      right=lambda r: r.size == 2,
    )


def _same_key(example_id: str, got: np.ndarray) -> bool:
  from robust_tfds import corruptions

  key = corruptions.example_key(0, "d", "fog", 3, example_id)
  return np.array_equal(got, _key_data(key))


def _key_data(key: Any) -> Any:
  import jax

  return (
    jax.random.key_data(key)
    if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)
    else key
  )


def _sequences() -> Iterator[Case]:
  def call(image=None, name="translate", **kwargs):
    return lambda corruptions: corruptions.sequence(
      _picture() if image is None else image,
      name,
      key=_key(),
      **{"edition": "cifar10", **kwargs},
    )

  yield from _rows(
    call,
    ("sequence: an unknown name", {"name": "tiltt"}, "tilt"),
    ("sequence: a name of a harder level 9", {"name": "shot_noise_9"}, "shot_noise"),
    ("sequence: an unknown edition", {"edition": "x"}, "edition"),
    ("sequence: floats", {"image": _picture() / 2}, "image|uint8"),
    ("sequence: four channels", {"image": np.zeros((32, 32, 4), np.uint8)},
     "image|channel|shape"),
    ("sequence: another size than the edition's", {"image": _picture(20)},
     "size|32|px|shape"),
    ("sequence: empty", {"image": np.zeros((0, 0, 3), np.uint8)},
     "image|empty|size|shape|px"),
    ("sequence: odd: all right", {}, lambda r: r.ndim == 4 and r.dtype == np.uint8),
  )  # fmt: skip


def _videos() -> Iterator[Case]:
  clip = np.stack([_picture()] * 8)

  def call(video=clip, name="jumbling", severity=3, **kwargs):
    return lambda corruptions: corruptions.perturb_video(
      video, name, severity, key=_key(), **kwargs
    )

  kinds = (
    ("an unknown name", {"name": "jumblingg"}, "jumbling"),
    ("severity 0", {"severity": 0}, "severity"),
    ("an unknown edition", {"edition": "x"}, "edition"),
    ("floats", {"video": clip / 2}, "video|clip|uint8"),
    ("one picture", {"video": clip[0]}, "video|clip|shape|frame"),
    ("no frames", {"video": clip[:0]}, "frame|video"),
    ("four channels", {"video": np.zeros((8, 9, 9, 4), np.uint8)},
     "video|clip|channel|shape"),
    ("fps 0", {"name": "mpeg1", "fps": 0}, "fps"),
    ("fps negative", {"name": "mpeg1", "fps": -25}, "fps"),
    ("fps NaN", {"name": "mpeg1", "fps": _NAN}, "fps"),
    ("odd: one frame", {"video": clip[:1]}, lambda r: r.shape[1:] == (32, 32, 3)),
  )  # fmt: skip
  for kind, *row in kinds:
    yield from _rows(call, (f"perturb_video: {kind}", *row))
  yield _case(
    "perturb_video: severity 9 of jax",
    lambda c: call(severity=_jnp(9)())(c),
    "severity",
  )
  for value in (0, -1, 1.5, "8", None, -(2**70)):
    yield _case(
      f"frame_indices: {value!r} frames",
      lambda c, v=value: c.frame_indices(v, "jumbling", 3, key=_key()),
      "frame",
    )
  yield _case(
    "frame_indices: of a spatial name",
    lambda c: c.frame_indices(8, "jpeg", 3, key=_key()),
    "jpeg",
  )
