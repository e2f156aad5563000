"""Examples: each once, in order, shared among hosts; batches are padded."""

import numpy as np
from absl.testing import absltest, parameterized

from eval.pipeline import inputs
from robust_tfds import datasets, errors, hosts, strings
from tests import quick
from tests.eval.pipeline import stored_examples


def _source(count=5, **options) -> inputs.Source:
  examples = [stored_examples.example(i) for i in range(count)]
  options = {"batch_size": 2, **options}
  return inputs.Source(stored_examples.Builder(examples), "test", **options)


def _ids(source: inputs.Source) -> list[str]:
  return [i for batch in source.batches() for i in batch.example_id]


class SourceTest(parameterized.TestCase):
  def test_batches(self):
    source = _source()
    batches = list(source.batches())
    self.assertLen(batches, 3)
    first, last = batches[0], batches[-1]
    self.assertEqual(first.example_id, ["example_0", "example_1"])
    self.assertEqual(first.image[:, 0, 0, 0].tolist(), [0, 1])
    self.assertEqual(first.size.tolist(), [[2, 3]] * 2)
    self.assertEqual(first.label.tolist(), [0, 1])
    self.assertNotIn("image", first.examples[0])
    self.assertEqual(last.image.shape, first.image.shape)
    self.assertEqual(last.mask.tolist(), [True, False])
    self.assertEqual(last.example_id, ["example_4", ""])
    self.assertEqual(last.label.tolist(), [1, -1])
    self.assertLen(last.examples, 1)
    self.assertEqual(source.decoded, 5)

  @quick.cases(["array_record"], ["tfrecord"])
  def test_joined_splits_come_one_after_the_other(self, file_format):
    built = datasets.prepare(
      "digits_subtypes",
      data_dir=self.create_tempdir().full_path,
      file_format=file_format,
    )

    def ids(split, **options):
      source = inputs.Source(built, split, batch_size=64, **options)
      return [i for i in _ids(source) if i]

    whole = ids("seen") + ids("unseen")
    self.assertLen(whole, 775)
    self.assertEqual(ids("seen+unseen"), whole)
    shares = [ids("seen+unseen", host=hosts.Host(i, 2)) for i in range(2)]
    self.assertEqual(sum(shares, []), whole)
    with self.assertRaisesRegex(errors.UserError, "has no split 'tset'"):
      ids("seen+tset")

  @parameterized.parameters(1, 2, 3, 4, 9)
  def test_hosts_share_the_examples(self, count):
    sources = [
      _source(7, host=hosts.Host(index, count)) for index in range(count)
    ]
    # The largest share, which all go by.
    self.assertEqual({source.share for source in sources}, {-(-7 // count)})
    ids = [i for source in sources for i in _ids(source) if i]
    self.assertEqual(ids, [f"example_{i}" for i in range(7)])
    decoded = {source.decoded for source in sources}
    self.assertLessEqual(decoded, {7 // count, 7 // count + 1})

  @parameterized.product(count=(1, 2, 3), start=(0, 1, 4), stop=(2, 4, None))
  def test_a_range_of_a_hosts_rows(self, count, start, stop):
    for index in range(count):
      source = _source(7, host=hosts.Host(index, count))
      whole = [i for i in _ids(source) if i]
      source.builder.reads = source.decoded = 0
      rows = list(source.rows(start, stop))
      got = [strings.text(row["example_id"]) for row in rows]
      self.assertEqual(got, whole[start:stop])
      self.assertEqual(source.decoded, len(got))
      self.assertEqual(source.builder.reads, len(got))

  def test_limit(self):
    source = _source(limit=3)
    self.assertEqual((source.total, source.share), (3, 3))
    self.assertEqual(_ids(source), [*(f"example_{i}" for i in range(3)), ""])
    self.assertLen(list(source.metadata(["image"])), 3)

  def test_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "6 examples asked for, .* 5"):
      _source(limit=6)
    builder = stored_examples.Builder([stored_examples.example(0)])
    with self.assertRaisesRegex(errors.UserError, "no split 'train'; it has t"):
      inputs.Source(builder, "train", batch_size=1)

  def test_some_by_their_ids(self):
    source = _source()
    pixels = source.find(["example_3", "example_9", "example_1"])
    self.assertEqual(
      {name: image[0, 0, 0] for name, image in pixels.items()},
      {"example_1": 1, "example_3": 3},
    )
    self.assertEqual(strings.text(source.sample()["example_id"]), "example_0")
    self.assertEqual(source.decoded, 0)  # of no batch

  def test_a_picture_of_another_shape_than_the_set_says(self):
    examples = [stored_examples.example(i) for i in range(4)]
    examples[3]["image"] = np.zeros((5, 5, 3), np.uint8)
    source = inputs.Source(
      stored_examples.Builder(examples), "test", batch_size=2
    )
    with self.assertRaisesRegex(
      errors.UserError, r"'example_3' has shape \(5, 5, 3\)"
    ):
      list(source.batches())


class CanvasTest(absltest.TestCase):
  def _batch(self) -> inputs.Batch:
    examples = [stored_examples.example(i + 1, 2 + i) for i in range(2)]
    builder = stored_examples.Builder(examples, any_size=True)
    return next(inputs.Source(builder, "test", batch_size=3).batches())

  def test_pictures_of_any_size_share_a_canvas(self):
    batch = self._batch()
    self.assertEqual(batch.size[:2].tolist(), [[2, 3], [3, 4]])
    self.assertEqual(batch.mask.tolist(), [True, True, False])
    height, width = batch.image.shape[1:3]
    self.assertGreaterEqual((height, width), (3, 4))
    np.testing.assert_array_equal(batch.image[1, :3, :4], 2)
    self.assertEqual(batch.image[0].sum(), 2 * 3 * 3)

  def test_a_larger_canvas_adds_zeros(self):
    batch = self._batch()
    height, width = batch.image.shape[1:3]
    larger = inputs.on_larger_canvas(batch, (height + 1, width + 2))
    self.assertEqual(larger.image.shape[1:3], (height + 1, width + 2))
    np.testing.assert_array_equal(larger.image[:, :height, :width], batch.image)
    self.assertEqual(larger.image.sum(), batch.image.sum())
