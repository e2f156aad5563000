"""What training reads its examples from."""

import io
import tracemalloc

import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized

from models.training import data
from robust_tfds import errors
from tests import quick, tiny_files


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


class ExamplesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  @quick.cases(["array_record"], ["tfrecord"])
  def test_a_set_of_tfds(self, file_format):
    folder = f"{self.folder}/{file_format}"
    builder = FewRowsOfTests(data_dir=folder, file_format=file_format)
    builder.download_and_prepare()
    config = data.Config(
      source=f"tfds:{__name__}:FewRowsOfTests", data_dir=folder
    )
    source = data.open(config)
    self.assertLen(source.ids(), 20)
    self.assertEqual(source.ids()[0], "train_00000")
    self.assertEqual(source.name, "few_rows_of_tests")
    (batch,) = source.batches(batch_size=20, seed=0, epoch=0)
    self.assertCountEqual(batch["label"], [0, 1] * 10)

  @pytest.mark.slow
  def test_many_rows_are_not_held(self):
    builder = SmallRowsOfTests(
      data_dir=f"{self.folder}/data", file_format="array_record"
    )
    builder.download_and_prepare()
    config = data.Config(
      source=f"tfds:{__name__}:SmallRowsOfTests", data_dir=f"{self.folder}/data"
    )
    source = data.open(config)
    self.assertEqual(source.num_examples, 20_000)
    with absltest.mock.patch.object(source._examples, "_left", 1 << 20):
      next(source.batches(batch_size=100, seed=0, epoch=0))
      tracemalloc.start()
      for _ in source.batches(batch_size=100, seed=0, epoch=0):
        pass
      _, peak = tracemalloc.get_traced_memory()
      tracemalloc.stop()
    self.assertLess(peak, 4 << 20)

  @parameterized.parameters(
    ({"source": "digit"}, "Did you mean 'digits'"),
    ({"source": "digits_c"}, "Unknown set to train on 'digits_c'"),
    ({"source": "digits", "split": "trian"}, "Did you mean 'train'"),
    ({"source": "folder:/no/such"}, "there is no such folder"),
  )
  def test_refused(self, options, words):
    with self.assertRaisesRegex(errors.UserError, words):
      data.open(data.Config(data_dir=self.folder, **options))
