"""Batches of training data, by `data.open`."""

import functools
import io
import pathlib
import tracemalloc

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

from robust_tfds import corruptions, errors
from robust_tfds.corruptions import seeding
from robust_tfds.models.training import data
from robust_tfds.models.training.data import examples
from tests import quick, tiny_files
from tests.own import made


class SmallRowsOfTests(tfds.core.GeneratorBasedBuilder):
  """Twenty thousand pictures of 16 x 16 px: 15 MB."""

  VERSION = tfds.core.Version("1.0.0")
  COUNT = 20_000

  def _info(self):
    label = tfds.features.ClassLabel(names=["even", "odd"])
    image = tfds.features.Image(shape=(16, 16, 3))
    features = tfds.features.FeaturesDict({"image": image, "label": label})
    return tfds.core.DatasetInfo(builder=self, features=features)

  def _split_generators(self, dl_manager):
    return {"train": self._generate_examples()}

  def _generate_examples(self):
    png = tiny_files.encoded(tiny_files.noise(16, 16), "PNG")
    for i in range(self.COUNT):
      yield i, {"image": io.BytesIO(png), "label": i % 2}


class FewRowsOfTests(SmallRowsOfTests):
  """Twenty of them."""

  COUNT = 20


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


class SourceTest(parameterized.TestCase):
  def test_an_epoch_holds_every_example_once(self):
    source = _open(validation=0.1)
    ids = _ids(_epoch(source, remainder="keep"))
    self.assertCountEqual(ids, source.ids())
    self.assertLen(ids, source.num_examples)
    self.assertLen(_epoch(source), source.steps(32))
    self.assertEmpty(set(ids) & set(source.ids("validation")))
    self.assertLen(source.classes, 10)

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

  def test_keys_are_those_of_the_public_door(self):
    (batch, *_) = _epoch(_open(), 4, seed=7, epoch=3)
    for name, key in zip(batch["id"], batch["key"], strict=True):
      own = corruptions.example_key(7, "digits", "train", 1, name)
      (folded,) = seeding.frame_keys(seeding.on_host(own), np.array([3]))
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

  @quick.cases(["array_record"], ["tfrecord"])
  def test_a_set_of_tfds(self, file_format):
    folder = f"{_folder()}/{file_format}"
    builder = FewRowsOfTests(data_dir=folder, file_format=file_format)
    builder.download_and_prepare()
    config = data.Config(
      source=f"tfds:{__name__}:FewRowsOfTests", data_dir=folder
    )
    source = data.open(config)
    self.assertLen(source.ids(), 20)
    self.assertEqual(source.ids()[0], "train_00000")
    self.assertEqual(source.name, "few_rows_of_tests")
    (batch,) = _epoch(source, 20)
    self.assertCountEqual(batch["label"], [0, 1] * 10)

  @pytest.mark.slow
  def test_many_rows_are_not_held(self):
    builder = SmallRowsOfTests(
      data_dir=f"{_folder()}/data", file_format="array_record"
    )
    builder.download_and_prepare()
    source = _open(f"tfds:{__name__}:SmallRowsOfTests")
    self.assertEqual(source.num_examples, 20_000)
    with absltest.mock.patch.object(source._examples, "_left", 1 << 20):
      next(source.batches(batch_size=100, seed=0, epoch=0))
      tracemalloc.start()
      for _ in source.batches(batch_size=100, seed=0, epoch=0):
        pass
      _, peak = tracemalloc.get_traced_memory()
      tracemalloc.stop()
    self.assertLess(peak, 4 << 20)

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

  @pytest.mark.slow
  def test_scenes(self):
    (batch, *_) = _epoch(_open("digits_detection"), 8)
    self.assertEqual(batch["image"].shape, (8, 128, 128, 3))
    there = batch["labels"] >= 0
    self.assertTrue(there.any(axis=1).all())
    x0, y0, x1, y1 = np.moveaxis(batch["boxes"], -1, 0)
    self.assertTrue((x1[there] > x0[there]).all())
    self.assertTrue((y1[there] <= batch["size"].max()).all())
    self.assertFalse(batch["boxes"][~there].any())


class RefusalTest(parameterized.TestCase):
  @parameterized.parameters(
    ({"source": "digit"}, "Did you mean 'digits'"),
    ({"source": "digits_c"}, "Unknown set to train on 'digits_c'"),
    ({"source": "digits", "split": "trian"}, "Did you mean 'train'"),
    ({"source": "digits", "validation": 1.5}, "a fraction from 0 to below 1"),
    ({"source": "digits", "validation": "test"}, "what the model is judged on"),
    ({"source": "digits", "geometry": "random_resized8"}, "is of `crop`"),
    ({"source": "digits", "crop": "random8"}, "Unknown geometry"),
    ({"source": "digits", "validation": 1e-6}, "leaves none for validation"),
    ({"source": "folder:/no/such"}, "there is no such folder"),
  )
  def test_refused(self, options, words):
    with self.assertRaisesRegex(errors.UserError, words):
      _open(**options)

  def test_hosts_that_cannot_share(self):
    with self.assertRaisesRegex(errors.UserError, "a multiple of the number"):
      _epoch(_open(), 10, host=(0, 3))


if __name__ == "__main__":
  absltest.main()
