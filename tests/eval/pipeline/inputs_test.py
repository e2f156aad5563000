"""Inputs of a pass: chunks, workers, subsets, work on the host."""

import concurrent.futures
import dataclasses
import threading
import time
import types
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from absl.testing import absltest, parameterized

from eval.pipeline import (
  blocks,
  inputs,
  on_host,
  predict,
  programs,
  show,
  subset,
  worker,
)
from robust_tfds import conditions, datasets, errors, hosts, strings
from robust_tfds.hosts import Host
from tests import quick
from tests.eval.pipeline import one_device, stored_examples


def _source(count=5, **options) -> inputs.Source:
  examples = [stored_examples.example(i) for i in range(count)]
  options = {"batch_size": 2, **options}
  return inputs.Source(stored_examples.Builder(examples), "test", **options)


def _ids(source: inputs.Source) -> list[str]:
  return [i for batch in source.batches() for i in batch.example_id]


class SourceTest(parameterized.TestCase):
  """Examples: each once, in order, shared among hosts; batches are padded."""

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

  def test_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "limit: got 6, .* 5"):
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


_IMAGENET = [f"ILSVRC2012_val_{i:08d}.JPEG" for i in (3, 1, 2)]


def _places(ids, example_ids) -> list[int]:
  of = subset.Subset("some", tuple(ids), "ids.txt")
  return of.places(example_ids, "imagenet_c/clean/1.0.0").tolist()


class PlacesTest(parameterized.TestCase):
  """Which examples ids name: whole ids, stems, none, several, twice."""

  @parameterized.parameters(
    "ILSVRC2012_val_00000001.JPEG",
    "ILSVRC2012_val_00000001",
    "n01440764/ILSVRC2012_val_00000001.JPEG",
    "val/n01440764/ILSVRC2012_val_00000001.JPEG",
    "val\\n01440764\\ILSVRC2012_val_00000001.png",
  )
  def test_forms_of_an_id(self, line):
    self.assertEqual(_places([line], _IMAGENET), [1])

  def test_ascending_whatever_the_order(self):
    self.assertEqual(_places(_IMAGENET[::-1], _IMAGENET), [0, 1, 2])
    self.assertEqual(_places([_IMAGENET[2], _IMAGENET[0]], _IMAGENET), [0, 2])

  def test_whole_ids_before_stems(self):
    ids = ["a/x.png", "b/x.png", "x.png"]
    self.assertEqual(_places(["b/x.png"], ids), [1])
    self.assertEqual(_places(["x.png"], ids), [2])

  @parameterized.parameters(
    (["x.jpg"], "'x.jpg' may be 'a/x.png' or 'b/x.png'. Write the whole id"),
    (
      ["y.png", "z", "a/x.png"],
      r"ids.txt: 2 of 3 ids are not in imagenet_c/clean/1.0.0, the first"
      r" 'y.png'; its ids are like 'a/x.png'",
    ),
    (
      ["c.png", "folder/c.JPEG"],
      "'c.png' and 'folder/c.JPEG' are both the example 'c.png'",
    ),
  )
  def test_refused(self, ids, message):
    with self.assertRaisesRegex(errors.UserError, message):
      _places(ids, ["a/x.png", "b/x.png", "c.png"])


_TIMEOUT_S = 60.0


def _fail() -> None:
  raise ValueError("the job failed")


class WorkerTest(absltest.TestCase):
  """A worker: jobs in order, errors to who gives them, no one waits for ever."""

  def test_jobs_are_done_in_order_beside_who_gives_them(self):
    done, gate = [], threading.Event()
    with worker.Worker("test") as work:
      work.do(lambda: done.append(gate.wait(_TIMEOUT_S)))
      for i in range(100):
        work.do(lambda i=i: done.append(i))
      self.assertEmpty(done)
      gate.set()
      work.wait()
      self.assertEqual(done, [True, *range(100)])

  def test_an_error_is_raised_where_one_waits_gives_or_asks(self):
    done = []
    with self.assertRaisesRegex(ValueError, "the job failed"):
      with worker.Worker("test") as work:
        work.check()
        work.do(_fail)
        work.do(lambda: done.append(1))
        for raises in (work.wait, work.check, lambda: work.do(_fail)):
          with self.assertRaisesRegex(ValueError, "the job failed"):
            raises()
    self.assertEmpty(done)  # what came after the error is dropped
    self.assertFalse(work._thread.is_alive())

  def test_an_error_frees_who_waits_to_give_a_job(self):
    gate = threading.Event()

    def fail_later() -> None:
      gate.wait(_TIMEOUT_S)
      _fail()

    with self.assertRaisesRegex(ValueError, "the job failed"):
      with worker.Worker("test", most=1) as work:
        work.do(fail_later)
        threading.Timer(0.05, gate.set).start()
        for _ in range(10):  # more than there is room for
          work.do(lambda: None)

  def test_after_an_error_of_the_giver_what_waits_is_dropped(self):
    done, gate = [], threading.Event()
    with self.assertRaises(KeyboardInterrupt):
      with worker.Worker("test", most=2) as work:
        work.do(lambda: gate.wait(_TIMEOUT_S))
        while work._jobs.qsize():  # until it is at work
          time.sleep(0.001)
        for i in range(2):  # no room is left
          work.do(lambda i=i: done.append(i))
        threading.Timer(0.05, gate.set).start()
        raise KeyboardInterrupt
    self.assertEmpty(done)
    self.assertFalse(work._thread.is_alive())

  def test_a_job_that_is_done_holds_nothing(self):
    class Pixels:
      pass

    pixels = Pixels()
    held = weakref.ref(pixels)
    with worker.Worker("test") as work:
      work.do(lambda pixels=pixels: None)
      del pixels
      work.wait()
      end = time.monotonic() + _TIMEOUT_S
      while held() is not None and time.monotonic() < end:
        time.sleep(0.001)
      self.assertIsNone(held())


class _Model:
  """Mean levels as logits; remembers how it was called."""

  def __init__(self, item_axes=3, on_host=True):
    self.spec = types.SimpleNamespace(item_axes=item_axes, num_classes=3)
    self.on_host = on_host
    self.calls = []

  def apply(self, variables, images):
    self.calls.append((type(images), images.dtype, images.shape))
    self.thread = threading.current_thread().name
    axes = tuple(range(1, images.ndim - 1))
    return images.astype(np.float32).mean(axes) * variables


class _Detector:
  """One box of the picture's size; its score is the first level, 0 is none."""

  spec = types.SimpleNamespace(item_axes=3)

  def __init__(self, on_host=True):
    self.on_host = on_host

  def apply(self, variables, images, sizes):
    del variables
    like = np if self.on_host else jnp
    boxes = like.concatenate([0 * sizes, sizes], axis=1)[:, None]
    scores = images[:, :1, 0, 0].astype(np.float32)
    return {
      "boxes": boxes.astype(np.float32),
      "scores": like.where(scores > 0, scores, np.nan),
    }


def _same(outputs, labels):
  return {**outputs, "labels": labels}


class HostPredictorTest(one_device.TestCase):
  def setUp(self):
    super().setUp()
    self.labels = self.put(np.array([5, -1], np.int32))

  def test_texts_stay_on_the_host(self):
    texts = np.array([["22"], [""]], np.object_)
    model = _Detector()
    answer = model.apply
    model.apply = lambda *batch: {**answer(*batch), "masks": texts}
    images = np.ones((2, 4, 5, 3), np.uint8)
    sizes = np.array([[4, 5], [3, 2]], np.int32)
    predictor = on_host.predictor(model, None, self.mesh)
    got = predictor(
      self.put(images), self.labels, _same, self.put(sizes)
    ).fetch()
    np.testing.assert_array_equal(got["masks"], texts)
    self.assertEqual(got["scores"].tolist(), [[1], [1]])

  def test_detectors_are_not_shown_what_fills_a_batch(self):
    model, shown = _Detector(), []
    model.apply = lambda variables, images, sizes: (
      shown.append(len(images)),
      _Detector.apply(model, variables, images, sizes),
    )[1]
    first = one_device.pixels(1, 4, 4, 3) | 1
    rows = [first.repeat(2, 0), np.array([[4, 4]] * 2, np.int32)]
    predictor = on_host.predictor(model, None, self.mesh)
    images, sizes = map(self.put, rows)
    whole = predictor(images, self.labels, _same, sizes).fetch()
    for count in (1, 0):  # none of a host's rows: it waits for the others
      got = predictor(images, self.labels, _same, sizes, count).fetch()
      for name, values in whole.items():
        np.testing.assert_array_equal(got[name], values)
    self.assertEqual(shown, [2, 1, 1])

  @parameterized.parameters(True, False)
  def test_logits_of_pictures_sequences_and_clips(self, there):
    """On the host, and on the devices."""
    models = {n: _Model(n, on_host=there) for n in (3, 4)}
    for item_axes, shape in (
      (3, (2, 4, 5, 3)),
      (3, (2, 3, 4, 5, 3)),
      (4, (2, 3, 6, 4, 5, 3)),
    ):
      images, model = one_device.pixels(*shape), models[item_axes]
      predictor = on_host.predictor(model, np.float32(2), self.mesh)
      got = predictor(self.put(images), self.labels, one_device.whole).fetch()
      axes = tuple(range(len(shape) - item_axes, len(shape) - 1))
      want = images.astype(np.float32).mean(axes) * 2
      np.testing.assert_allclose(got["logits"], want, rtol=1e-6)
      self.assertEqual(got["finite"].tolist(), [True, True])
      self.assertEqual(got["labels"].tolist(), [5, -1])
    if there:  # real numpy, every frame a row
      rows = [(np.ndarray, np.uint8, (n, 4, 5, 3)) for n in (2, 6)]
      self.assertEqual(models[3].calls, rows)
      self.assertEqual(models[4].calls[0][2], (6, 6, 4, 5, 3))

  def test_one_thread_in_order(self):
    first, second = _Model(), _Model()
    order = []
    for model in (first, second):
      model.apply = lambda v, x, m=model: (
        order.append(m),
        _Model.apply(m, v, x),
      )[1]
    batch = self.put(one_device.pixels(2, 4, 4, 3))
    predictors = [on_host.predictor(m, 1.0, self.mesh) for m in (first, second)]
    outputs = [
      p(batch, self.labels, one_device.whole)
      for _ in range(3)
      for p in predictors
    ]
    for output in outputs:
      output.fetch()
    self.assertEqual(order, [first, second] * 3)
    self.assertEqual(first.thread, second.thread)
    self.assertNotEqual(first.thread, threading.current_thread().name)

  @parameterized.parameters(True, False)
  def test_detections(self, there):
    images = one_device.pixels(2, 4, 4, 3)
    images[:, 0, 0] = [[7] * 3, [0] * 3]
    sizes = np.array([[4, 3], [2, 4]], np.int32)
    predictor = on_host.predictor(_Detector(there), np.zeros(1), self.mesh)
    got = predictor(
      self.put(images), self.labels, _same, self.put(sizes)
    ).fetch()
    self.assertEqual(got["boxes"][:, 0].tolist(), [[0, 0, 4, 3], [0, 0, 2, 4]])
    self.assertEqual(got["finite"].tolist(), [True, False])

  def test_what_it_raises_is_raised_where_it_is_fetched(self):
    model = _Model()
    model.apply = lambda variables, images: {}["logits"]
    outputs = on_host.predictor(model, 1.0, self.mesh)(
      self.put(one_device.pixels(2, 4, 4, 3)), self.labels, one_device.whole
    )
    with self.assertRaises(KeyError):
      outputs.fetch()

  def test_given_up_calls_are_not_made(self):
    model, begun, go_on = _Model(), threading.Event(), threading.Event()

    def wait(variables, images):
      begun.set()
      go_on.wait(10)
      return _Model.apply(model, variables, images)

    model.apply = wait
    predictor = on_host.predictor(model, 1.0, self.mesh)
    batch = self.put(one_device.pixels(2, 4, 4, 3))
    first, second = (
      predictor(batch, self.labels, one_device.whole) for _ in range(2)
    )
    begun.wait(10)
    predictor.give_up()
    go_on.set()
    first.fetch()
    with self.assertRaises(concurrent.futures.CancelledError):
      second.fetch()
    self.assertLen(model.calls, 1)

  def test_the_reduction_is_compiled_ahead(self):
    model = _Model()
    predictor = on_host.predictor(model, 1.0, self.mesh)
    images = one_device.pixels(2, 4, 4, 3)
    predictor(self.shape(images), self.shape(self.labels), one_device.whole)
    self.assertEqual(model.calls, [])
    with mock.patch.object(programs._Entry, "compile") as compiled:
      got = predictor(self.put(images), self.labels, one_device.whole).fetch()
    compiled.assert_not_called()
    self.assertEqual(got["logits"].shape, (2, 3))


_CLEAN = conditions.Condition()
_NOISE = conditions.Condition("gaussian_noise", 3)
_SPEC = types.SimpleNamespace()


def _batch(numbers=(1, 2), *, any_size: bool = False) -> inputs.Batch:
  examples = [stored_examples.example(i, 32) for i in numbers]
  builder = stored_examples.Builder(examples, any_size=any_size)
  source = inputs.Source(builder, "test", batch_size=len(numbers))
  return next(source.batches())


class PictureShowTest(one_device.TestCase):
  """What models are shown: placed once, the clean pixels stay, keys by id."""

  def setUp(self):
    super().setUp()
    self.corrupt = predict.corruptor(self.mesh, "cifar10", "raw")

  def _show(self, transform=None, **options) -> show.PictureShow:
    options = {"seed": 0, "dataset": "digits_c", "sized": False, **options}
    return show.PictureShow(self.mesh, transform, **options)

  def _seen(self, of: show.PictureShow, batch, condition=_NOISE) -> np.ndarray:
    return np.asarray(of.see(of.put(batch), condition, _SPEC)[0])

  def test_pixels_follow_seed_set_and_id_alone(self):
    batch = _batch((1, 2))
    want = self._seen(self._show(self.corrupt), batch)
    other = self._seen(self._show(self.corrupt), _batch((2, 1)))
    np.testing.assert_array_equal(want[::-1], other)
    for options in ({"seed": 1}, {"dataset": "cifar10_c"}):
      other = self._seen(self._show(self.corrupt, **options), batch)
      self.assertTrue((want != other).any(), options)

  def test_one_batch_on_the_devices_serves_all_conditions(self):
    of, batch = self._show(self.corrupt), _batch()
    placed = of.put(batch)
    first = np.asarray(of.see(placed, _NOISE, _SPEC)[0])
    clean = np.asarray(of.see(placed, _CLEAN, _SPEC)[0])
    np.testing.assert_array_equal(clean, batch.image)
    again = np.asarray(of.see(placed, _NOISE, _SPEC)[0])
    np.testing.assert_array_equal(first, again)

  def test_sizes_are_told_to_whom_they_matter(self):
    batch = _batch()
    self.assertIsNone(self._show().put(batch).sizes)
    of = self._show(sized=True)
    _, sizes = of.see(of.put(batch), _CLEAN, _SPEC)
    np.testing.assert_array_equal(sizes, batch.size)
    # Canvases: the corruption needs the sizes, a classifier does not.
    canvases = _batch(any_size=True)
    placed = self._show().put(canvases)
    np.testing.assert_array_equal(placed.sizes, canvases.size)
    self.assertIsNone(self._show().see(placed, _CLEAN, _SPEC)[1])

  def test_shapes_are_those_of_what_is_put(self):
    for any_size in (False, True):
      of, batch = self._show(sized=any_size), _batch(any_size=any_size)
      placed, shapes = of.put(batch), of.shapes(batch)
      for array, shape in (
        (placed.images, shapes.images),
        (placed.sizes, shapes.sizes),
      ):
        if array is None:
          self.assertIsNone(shape)
          continue
        self.assertEqual((array.shape, array.dtype), (shape.shape, shape.dtype))
        self.assertEqual(array.sharding, shape.sharding)

  def test_what_is_seen_of_shapes_are_the_shapes_of_what_is_seen(self):
    of, batch = self._show(self.corrupt), _batch()
    got, _ = of.see(of.shapes(batch), _NOISE, _SPEC)
    want, _ = of.see(of.put(batch), _NOISE, _SPEC)
    self.assertIsInstance(got, jax.ShapeDtypeStruct)
    self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype))
    self.assertIsInstance(want, jnp.ndarray)


_BATCH = 4


@dataclasses.dataclass(frozen=True)
class _Row:
  number: int
  group: Hashable
  nbytes: int


class _Reader:
  """Rows that count themselves; batches are lists of their numbers."""

  usual_nbytes = 10

  def __init__(
    self,
    count: int,
    group: Callable[[int], Hashable] = lambda i: 0,
    nbytes: Callable[[int], int] = lambda i: 10,
    broken: int = -1,
  ):
    self._count, self._broken = count, broken
    self._group, self._nbytes = group, nbytes
    self.read: list[int] = []

  def rows(self, start: int, stop: int) -> Iterator[_Row]:
    for i in range(start, min(stop, self._count)):
      if i == self._broken:
        raise errors.UserError(f"row {i} is broken")
      self.read.append(i)
      yield _Row(i, self._group(i), self._nbytes(i))

  def group(self, row: _Row) -> Hashable:
    return row.group

  def most(self, group: Hashable) -> int:
    return _BATCH

  def batch(self, rows: Sequence[_Row]) -> list[int]:
    assert len({row.group for row in rows}) <= 1
    assert len(rows) <= _BATCH
    return [row.number for row in rows]


def _blocks(reader, ranges, *, nbytes=10**6, rows=8, **options):
  return blocks.Blocks(
    reader,
    ranges,
    batch_size=_BATCH,
    block_rows=rows,
    block_nbytes=nbytes,
    **options,
  )


def _listed(
  reader: _Reader, ranges: Sequence[blocks.Range], **options
) -> list[tuple[blocks.Range, list[int] | None]]:
  """(block, numbers of the rows or None at its end), each released at once."""
  out = []
  with _blocks(reader, ranges, **options) as steps:
    for step in steps:
      out.append((step.block, step.batch))
      steps.release(step)
  return out


def _wait_for(reached: Callable[[], bool]) -> None:
  end = time.monotonic() + _TIMEOUT_S
  while not reached():
    assert time.monotonic() < end, "it never came"
    time.sleep(0.001)


def _is_over(thread: threading.Thread) -> bool:
  thread.join(_TIMEOUT_S)
  return not thread.is_alive()


class BlocksTest(parameterized.TestCase):
  """Blocks: every row once, by group, in bounded memory, without a deadlock."""

  def test_ranges_become_blocks_of_batches(self):
    reader = _Reader(100)
    self.assertEqual(
      _listed(reader, [(0, 10), (20, 22)]),
      [
        ((0, 8), [0, 1, 2, 3]),
        ((0, 8), [4, 5, 6, 7]),
        ((0, 8), None),
        ((8, 10), [8, 9]),
        ((8, 10), None),
        ((20, 22), [20, 21]),
        ((20, 22), None),
      ],
    )
    self.assertEqual(reader.read, [*range(10), 20, 21])

  def test_rows_of_one_group_share_batches_within_a_block(self):
    listed = _listed(_Reader(16, group=lambda i: i % 3 == 0), [(0, 16)], rows=8)
    batches = [(block, rows) for block, rows in listed if rows is not None]
    self.assertEqual(
      batches,
      [
        ((0, 8), [1, 2, 4, 5]),
        ((0, 8), [0, 3, 6]),
        ((0, 8), [7]),
        ((8, 16), [8, 10, 11, 13]),
        ((8, 16), [14]),
        ((8, 16), [9, 12, 15]),
      ],
    )

  def test_a_host_whose_share_is_shorter_takes_as_many_steps(self):
    # Shares of 9 and 8 rows: the block of the ninth is all padding there.
    long, short = (_listed(_Reader(n), [(0, 9)]) for n in (9, 8))
    self.assertEqual([b for b, _ in long], [b for b, _ in short])
    self.assertEqual(short[-2:], [((8, 9), []), ((8, 9), None)])

  @parameterized.parameters(15, 25, 10**6)
  def test_hosts_take_as_many_steps_whatever_their_rows_bytes(self, nbytes):
    small = _Reader(16)
    large = _Reader(16, nbytes=lambda i: 10 * (i % 4 + 1))
    options = {"nbytes": nbytes, "equal_steps": True}
    listed = [_listed(r, [(0, 16)], **options) for r in (small, large)]
    self.assertEqual(listed[0], listed[1])
    self.assertLen(listed[0], 4 + 2)

  def test_two_blocks_of_pixels_are_in_memory_and_no_more(self):
    reader = _Reader(100)
    with _blocks(reader, [(0, 100)], nbytes=80) as steps:
      taken, held = [], 0
      for step in steps:
        taken.append(step)
        held += step.nbytes
        self.assertLessEqual(held, 160)
        if held == 160:
          # One more row was decoded, and finds no room however long it waits.
          time.sleep(0.02)
          self.assertLessEqual(len(reader.read), step.batch[-1] + 2)
          for each in taken:
            steps.release(each)
          taken, held = [], 0
    self.assertLen(reader.read, 100)

  def test_a_row_that_is_larger_than_all_room_comes_alone(self):
    reader = _Reader(12, nbytes=lambda i: 10**9 if i == 5 else 10)
    batches = [b for _, b in _listed(reader, [(0, 12)], nbytes=80) if b]
    self.assertEqual(sorted(i for b in batches for i in b), list(range(12)))
    self.assertIn([5], batches)

  def test_groups_that_hold_all_room_become_batches(self):
    # Every row has a group of its own: none is ever full.
    reader = _Reader(64, group=lambda i: i)
    listed = _listed(reader, [(0, 64)], nbytes=30, rows=32)
    batches = [b for _, b in listed if b is not None]
    self.assertEqual(batches, [[i] for i in range(64)])

  def test_an_error_of_the_reader_comes_after_the_steps_before(self):
    reader, taken = _Reader(100, broken=13), []
    with self.assertRaisesRegex(errors.UserError, "row 13 is broken"):
      with _blocks(reader, [(0, 100)]) as steps:
        for step in steps:
          taken.append(step.batch)
          steps.release(step)
    self.assertEqual(taken[:3], [[0, 1, 2, 3], [4, 5, 6, 7], None])
    self.assertEqual(taken[3:], [[8, 9, 10, 11]])

  def test_leaving_ends_the_thread_that_waits_for_room(self):
    reader = _Reader(1000)
    with self.assertRaises(KeyboardInterrupt):
      with _blocks(reader, [(0, 1000)], nbytes=80) as steps:
        next(iter(steps))
        _wait_for(lambda: len(reader.read) >= 16)
        raise KeyboardInterrupt
    self.assertTrue(_is_over(steps._thread))
    self.assertLen(reader.read, 17)  # one was read and found no room

  def test_who_waits_for_a_step_hears_why_none_comes(self):
    # The room is full of what nobody will release: the one who would failed.
    failed = []

    def check() -> None:
      if failed:
        raise failed[0]

    with self.assertRaisesRegex(ValueError, "fetching failed"):
      with _blocks(_Reader(100), [(0, 100)], nbytes=40, check=check) as steps:
        for step in steps:
          if step.block[1] >= 8:
            failed.append(ValueError("fetching failed"))


class PictureReaderTest(parameterized.TestCase):
  def _reader(self, sides: Sequence[int], hosts: int = 1):
    examples = [stored_examples.example(i, s) for i, s in enumerate(sides)]
    builder = stored_examples.Builder(examples, any_size=len(set(sides)) > 1)
    source = inputs.Source(
      builder, "test", batch_size=_BATCH, host=Host(0, hosts)
    )
    return blocks.PictureReader(source), source

  def test_rows_are_decoded_once(self):
    reader, source = self._reader([2] * 9)
    rows = list(reader.rows(2, 7))
    self.assertEqual([row.nbytes for row in rows], [2 * 3 * 3] * 5)
    self.assertEqual(reader.usual_nbytes, 2 * 3 * 3)
    batch = reader.batch(rows[:3])
    self.assertEqual(
      batch.example_id, ["example_2", "example_3", "example_4", ""]
    )
    self.assertEqual(source.decoded, 5)

  def test_pictures_of_one_canvas_are_a_group(self):
    reader, _ = self._reader([2, 300, 2, 300])
    groups = [reader.group(row) for row in reader.rows(0, 4)]
    self.assertEqual(groups[0], groups[2])
    self.assertEqual(groups[1], groups[3])
    self.assertNotEqual(groups[0], groups[1])
    self.assertEqual(reader.usual_nbytes, 480 * 640 * 3)

  def test_a_batch_of_no_rows_is_padding(self):
    for sides in ([2, 2], [2, 300]):
      reader, _ = self._reader(sides)
      batch = reader.batch([])
      self.assertEqual(batch.mask.tolist(), [False] * _BATCH)
      self.assertEqual(batch.label.tolist(), [-1] * _BATCH)
      self.assertEqual(batch.example_id, [""] * _BATCH)
      np.testing.assert_array_equal(batch.image, 0)
