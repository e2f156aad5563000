"""Batches: every example once, padded, shared among hosts, kept in memory."""

import numpy as np
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import errors
from robust_tfds.eval.pipeline import inputs
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
    self.assertLen(batches, source.steps)
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

  @parameterized.parameters(1, 2, 3, 4)
  def test_hosts_share_the_examples_and_take_as_many_steps(self, count):
    hosts = [
      _source(7, host=inputs.Host(index, count)) for index in range(count)
    ]
    self.assertLen({source.steps for source in hosts}, 1)
    ids = [_ids(source) for source in hosts]
    self.assertLen({len(i) for i in ids}, 1)
    listed = [i for of_host in ids for i in of_host if i]
    self.assertCountEqual(listed, [f"example_{i}" for i in range(7)])

  def test_kept_in_memory_up_to_a_size(self):
    source = _source(cache_bytes=10**6)
    first = _ids(source)
    self.assertEqual(_ids(source), first)
    self.assertEqual(source.builder.reads, 5)
    small = _source(cache_bytes=40)
    self.assertEqual(_ids(small), _ids(small))
    self.assertEqual(small.builder.reads, 10)

  def test_limit(self):
    source = _source(limit=3)
    self.assertEqual((source.total, source.steps), (3, 2))
    self.assertEqual(_ids(source)[:3], [f"example_{i}" for i in range(3)])
    self.assertLen(list(source.metadata(["image"])), 3)

  def test_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "6 examples asked for, .* 5"):
      _source(limit=6)
    builder = stored_examples.Builder([stored_examples.example(0)])
    with self.assertRaisesRegex(errors.UserError, "no split 'train'; it has t"):
      inputs.Source(builder, "train", batch_size=1)

  def test_one_by_its_id(self):
    source = _source()
    found = source.find("example_3")
    self.assertEqual(found["image"][0, 0, 0], 3)
    self.assertEqual(inputs.text(source.sample()["example_id"]), "example_0")
    self.assertIsNone(source.find("example_9"))

  def test_an_error_of_the_reading_thread_is_raised_here(self):
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


if __name__ == "__main__":
  absltest.main()
