"""Batches of training data, by `data.open`."""

import functools
import pathlib
from unittest import mock

import numpy as np
from absl.testing import absltest, parameterized

from models.training import data
from models.training.data import examples
from robust_tfds import corruptions, errors
from robust_tfds.corruptions import seeding
from tests import tiny_files
from tests.user_data import made


@functools.cache
def _folder() -> str:
  return absltest.TEST_TMPDIR.value


def _open(source: str = "digits", **options) -> data.Source:
  return data.open(
    data.Config(source=source, data_dir=f"{_folder()}/data", **options)
  )


def _epoch(source: data.Source, batch_size=32, seed=0, epoch=0, **options):
  return list(
    source.batches(batch_size=batch_size, seed=seed, epoch=epoch, **options)
  )


def _ids(batches) -> list[str]:
  return [i for batch in batches for i in batch["id"]]


class _Twice:
  """Adds what it is told."""

  copies = 2
  extras = ("own", "copy")
  folders: dict[str, str] = {}

  def extra_arrays(self, item, key, own, copy):
    assert item["image"].ndim == 3
    return {"own": own, "copy": np.int32(copy)}


class SourceTest(parameterized.TestCase):
  def test_what_is_held_is_what_is_read_ahead(self):
    batches = []
    for held in (examples.HELD_BYTES, 0):
      with mock.patch.object(examples, "HELD_BYTES", held):
        batches.append(_epoch(_open(validation=0.1), start=7, remainder="keep"))
    for of_memory, read in zip(*batches, strict=True):
      self.assertEqual(of_memory.keys(), read.keys())
      for name in read:
        np.testing.assert_array_equal(of_memory[name], read[name])

  def test_an_epoch_holds_every_example_once(self):
    source = _open(validation=0.1)
    ids = _ids(_epoch(source, remainder="keep"))
    self.assertCountEqual(ids, source.ids())
    self.assertLen(ids, source.num_examples)
    self.assertLen(_epoch(source), source.steps(32))
    self.assertEmpty(set(ids) & set(source.ids("validation")))
    self.assertLen(source.classes, 10)

  def test_the_digest_is_of_ids_and_bytes(self):
    digests = {_open(**o).digest for o in ({}, {"validation": 0.1})}
    self.assertLen(digests, 1)
    self.assertLen(digests.pop(), 64)
    root = pathlib.Path(made.folder(pathlib.Path(_folder()) / "one" / "pets"))
    first = _open(f"folder:{root}").digest
    file = next(p for p in sorted(root.rglob("*")) if p.is_file())
    file.rename(file.with_name(f"other{file.suffix}"))
    self.assertNotEqual(_open(f"folder:{root}").digest, first)

  def test_order_follows_seed_and_epoch_alone(self):
    source = _open()
    ids = _ids(_epoch(source))
    self.assertEqual(_ids(_epoch(source, 16))[:512], ids[:512])
    self.assertNotEqual(_ids(_epoch(source, epoch=1)), ids)
    self.assertNotEqual(_ids(_epoch(source, seed=1)), ids)
    self.assertNotEqual(ids, sorted(ids))

  @parameterized.parameters(0, 32, 45)
  def test_goes_on_at_any_example(self, start):
    source = _open()
    whole = _epoch(source, 1, remainder="keep")
    rest = _epoch(source, 64, start=start, remainder="keep")
    self.assertEqual(_ids(rest), _ids(whole[start:]))

  def test_each_host_has_its_part_of_each_batch(self):
    source = _open()
    hosts = [
      _epoch(source, 24, host=(i, 3), remainder="keep") for i in range(3)
    ]
    for whole, *parts in zip(_epoch(source, 24, remainder="keep"), *hosts):
      self.assertEqual(_ids(parts), whole["id"])
      for name in ("image", "label", "key"):
        joined = np.concatenate([part[name] for part in parts])
        np.testing.assert_array_equal(joined, whole[name])

  def test_copies_of_an_example_have_keys_of_their_own(self):
    """Twice the steps; what is added hangs on the copy, its own key on no epoch."""
    source = data.open(_open().config, additions=_Twice())
    self.assertEqual(source.steps(32), 2 * source.num_examples // 32)
    epochs = [_epoch(source, 32, epoch=e) for e in (0, 1)]
    alone = {  # as without copies
      i: tuple(k)
      for b in _epoch(_open(), remainder="keep")
      for i, k in zip(b["id"], b["key"])
    }
    own = []
    for batches in epochs:
      rows = [
        (i, int(c), tuple(k), tuple(o))
        for b in batches
        for i, c, k, o in zip(b["id"], b["copy"], b["key"], b["own"])
      ]
      self.assertLen({row[:2] for row in rows}, len(rows))  # each once
      self.assertLen({k for _, _, k, _ in rows}, len(rows))
      self.assertNotEqual(
        [c for _, c, _, _ in rows], sorted(c for _, c, _, _ in rows)
      )
      own.append({row[:2]: row[3] for row in rows})
      if batches is epochs[0]:
        for i, c, k, _ in rows:
          self.assertEqual(alone[i] == k, c == 0)
    for which in own[0].keys() & own[1].keys():
      self.assertEqual(own[0][which], own[1][which])

  def test_nothing_is_added_to_validation(self):
    source = data.open(_open(validation=0.1).config, additions=_Twice())
    (batch, *_) = _epoch(source, 8, split="validation")
    self.assertNotIn("copy", batch)
    self.assertEqual(
      source.steps(1, "validation"), len(source.ids("validation"))
    )

  def test_keys_are_those_of_the_public_door(self):
    (batch, *_) = _epoch(_open(), 4, seed=7, epoch=3)
    for name, key in zip(batch["id"], batch["key"], strict=True):
      own = corruptions.example_key(7, "digits", "train", 1, name)
      (folded,) = seeding.frame_keys(seeding.host_key(own), np.array([3]))
      np.testing.assert_array_equal(key, folded)

  def test_dtypes(self):
    (batch, *_) = _epoch(_open(), 4)
    kinds = {k: (v.dtype, v.shape) for k, v in batch.items() if k != "id"}
    self.assertEqual(
      kinds,
      {
        "image": (np.uint8, (4, 32, 32, 3)),
        "label": (np.int32, (4,)),
        "key": (np.uint32, (4, 2)),
      },
    )

  def test_a_folder(self):
    root = made.folder(pathlib.Path(_folder()) / "pets")
    source = _open(f"folder:{root}", crop="random_resized16")
    self.assertEqual((source.name, list(source.classes)[1]), ("pets", "cat"))
    moved = made.folder(pathlib.Path(_folder()) / "elsewhere" / "pets")
    again = _open(f"folder:{moved}", crop="random_resized16")
    for one, other in zip(_epoch(source, 4), _epoch(again, 4), strict=True):
      np.testing.assert_array_equal(one["image"], other["image"])
    first, second = (_epoch(source, 12, epoch=e)[0] for e in (0, 1))
    at = [second["id"].index(i) for i in first["id"]]
    self.assertFalse((first["image"] == second["image"][at]).all())

  def test_pictures_of_many_sizes_need_a_crop(self):
    root = made.folder(pathlib.Path(_folder()) / "pets")
    with self.assertRaisesRegex(errors.UserError, "data.crop=random_resized"):
      _epoch(_open(f"folder:{root}"), 4)

  def test_the_shape_of_pictures_is_known_before_a_batch(self):
    """Of headers, also of those on their side; the rules' where they say one."""
    root = pathlib.Path(_folder()) / "sizes" / "pets"
    picture = lambda h, w: tiny_files.encoded(tiny_files.noise(h, w, 0), "PNG")
    files = {f"{kind}/{i}.png": picture(24, 32) for kind in "ab" for i in "12"}
    tiny_files.put(root, files)
    name = f"folder:{root}"
    self.assertEqual(_open(name).shape(), (24, 32))
    self.assertEqual(_open(name, geometry="short12").shape(), (12, 16))
    tiny_files.put(root, {"b/3.png": picture(32, 24)})
    with self.assertRaisesRegex(
      errors.UserError,
      "a/1.png of 32 x 24 px, b/3.png of 24 x 32 px: pictures of several sizes"
      " .* those of train are cut: --config.data.crop=random_resized224",
    ):
      _open(name).shape()
    rules = {"crop": "random_resized16", "geometry": "short16_crop12"}
    cut = _open(name, validation=0.5, **rules)
    self.assertEqual(cut.shape(), (16, 16))
    self.assertEqual(cut.shape("validation"), (12, 12))
    self.assertEqual(_open().shape(), (32, 32))

  def test_what_does_not_fit_is_not_held(self):
    source = _open()
    with absltest.mock.patch.object(
      source._examples, "_left", 10 * 32 * 32 * 3
    ):
      _epoch(source)
    self.assertLen(source._examples._held, 10)

  def test_what_fits_is_decoded_once(self):
    source = _open()
    _epoch(source)
    with absltest.mock.patch.object(
      examples.Records, "_decoded", side_effect=AssertionError
    ):
      _epoch(source, remainder="drop")


class RefusalTest(parameterized.TestCase):
  def test_a_fraction_that_leaves_nothing(self):
    with self.assertRaisesRegex(errors.UserError, "leaves none for validation"):
      _open(validation=1e-6)

  def test_hosts_that_cannot_share(self):
    with self.assertRaisesRegex(errors.UserError, "a multiple of the number"):
      _epoch(_open(), 10, host=(0, 3))


if __name__ == "__main__":
  absltest.main()
