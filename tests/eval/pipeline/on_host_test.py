"""Models on the host: in order, one thread, equal to what devices would give."""

import concurrent.futures
import threading
import types
from unittest import mock

import jax
import numpy as np
from absl.testing import absltest

from robust_tfds.eval.pipeline import devices, on_host, programs


def _images(*shape: int) -> np.ndarray:
  return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


class _Model:
  """Mean levels as logits; remembers how it was called."""

  on_host = True

  def __init__(self, item_axes=3):
    self.spec = types.SimpleNamespace(item_axes=item_axes, num_classes=3)
    self.calls = []

  def apply(self, variables, images):
    self.calls.append((type(images), images.dtype, images.shape))
    self.thread = threading.current_thread().name
    axes = tuple(range(1, images.ndim - 1))
    return images.astype(np.float32).mean(axes) * variables


class _Detector:
  on_host = True
  spec = types.SimpleNamespace(item_axes=3)

  def apply(self, variables, images, sizes):
    del variables
    boxes = np.concatenate([0 * sizes, sizes], axis=1)[:, None]
    scores = images[:, :1, 0, 0].astype(np.float32)
    return {
      "boxes": boxes.astype(np.float32),
      "scores": np.where(scores > 0, scores, np.nan),
    }


def _whole(logits, labels):
  return {"logits": logits, "labels": labels}


def _same(outputs, labels):
  return {**outputs, "labels": labels}


class HostPredictorTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.mesh = devices.mesh(jax.local_devices()[:1])
    self.labels = self._put(np.array([5, -1], np.int32))

  def _put(self, array):
    return devices.put_batch(array, self.mesh)

  def test_texts_stay_on_the_host(self):
    texts = np.array([["22"], [""]], np.object_)
    model = _Detector()
    answer = model.apply
    model.apply = lambda *batch: {**answer(*batch), "masks": texts}
    images = np.ones((2, 4, 5, 3), np.uint8)
    sizes = np.array([[4, 5], [3, 2]], np.int32)
    predictor = on_host.predictor(model, None, self.mesh)
    got = predictor(
      self._put(images), self.labels, _same, self._put(sizes)
    ).fetch()
    np.testing.assert_array_equal(got["masks"], texts)
    self.assertEqual(got["scores"].tolist(), [[1], [1]])

  def test_detectors_are_not_shown_what_fills_a_batch(self):
    model, shown = _Detector(), []
    model.apply = lambda variables, images, sizes: (
      shown.append(len(images)),
      _Detector.apply(model, variables, images, sizes),
    )[1]
    first = _images(1, 4, 4, 3) | 1
    rows = [first.repeat(2, 0), np.array([[4, 4]] * 2, np.int32)]
    predictor = on_host.predictor(model, None, self.mesh)
    images, sizes = map(self._put, rows)
    whole = predictor(images, self.labels, _same, sizes).fetch()
    for count in (1, 0):  # none of a host's rows: it waits for the others
      got = predictor(images, self.labels, _same, sizes, count).fetch()
      for name, values in whole.items():
        np.testing.assert_array_equal(got[name], values)
    self.assertEqual(shown, [2, 1, 1])

  def test_logits_of_pictures_sequences_and_clips(self):
    model = _Model()
    predictor = on_host.predictor(model, 2.0, self.mesh)
    images = _images(2, 4, 5, 3)
    got = predictor(self._put(images), self.labels, _whole).fetch()
    want = images.astype(np.float32).mean((1, 2)) * 2
    np.testing.assert_array_equal(got["logits"], want)
    self.assertEqual(got["finite"].tolist(), [True, True])
    self.assertEqual(got["labels"].tolist(), [5, -1])
    frames = _images(2, 3, 4, 5, 3)
    got = predictor(self._put(frames), self.labels, _whole).fetch()
    self.assertEqual(got["logits"].shape, (2, 3, 3))
    # Real numpy, every frame a row.
    self.assertEqual(
      model.calls,
      [
        (np.ndarray, np.uint8, (2, 4, 5, 3)),
        (np.ndarray, np.uint8, (6, 4, 5, 3)),
      ],
    )
    clips = _Model(item_axes=4)
    views = _images(2, 3, 6, 4, 5, 3)
    got = on_host.predictor(clips, 1.0, self.mesh)(
      self._put(views), self.labels, _whole
    )
    self.assertEqual(got.fetch()["logits"].shape, (2, 3, 3))
    self.assertEqual(clips.calls[0][2], (6, 6, 4, 5, 3))

  def test_one_thread_in_order(self):
    first, second = _Model(), _Model()
    order = []
    for model in (first, second):
      model.apply = lambda v, x, m=model: (
        order.append(m),
        _Model.apply(m, v, x),
      )[1]
    batch = self._put(_images(2, 4, 4, 3))
    predictors = [on_host.predictor(m, 1.0, self.mesh) for m in (first, second)]
    outputs = [
      p(batch, self.labels, _whole) for _ in range(3) for p in predictors
    ]
    for output in outputs:
      output.fetch()
    self.assertEqual(order, [first, second] * 3)
    self.assertEqual(first.thread, second.thread)
    self.assertNotEqual(first.thread, threading.current_thread().name)

  def test_detections(self):
    images = _images(2, 4, 4, 3)
    images[:, 0, 0] = [[7] * 3, [0] * 3]
    sizes = np.array([[4, 3], [2, 4]], np.int32)
    predictor = on_host.predictor(_Detector(), None, self.mesh)
    got = predictor(
      self._put(images), self.labels, _same, self._put(sizes)
    ).fetch()
    self.assertEqual(got["boxes"][:, 0].tolist(), [[0, 0, 4, 3], [0, 0, 2, 4]])
    self.assertEqual(got["finite"].tolist(), [True, False])

  def test_what_it_raises_is_raised_where_it_is_fetched(self):
    model = _Model()
    model.apply = lambda variables, images: {}["logits"]
    outputs = on_host.predictor(model, 1.0, self.mesh)(
      self._put(_images(2, 4, 4, 3)), self.labels, _whole
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
    batch = self._put(_images(2, 4, 4, 3))
    first, second = (predictor(batch, self.labels, _whole) for _ in range(2))
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
    shape = jax.ShapeDtypeStruct(
      (2, 4, 4, 3), np.uint8, sharding=devices.rows(self.mesh)
    )
    labels = jax.ShapeDtypeStruct((2,), np.int32, sharding=shape.sharding)
    predictor(shape, labels, _whole)
    self.assertEqual(model.calls, [])
    with mock.patch.object(programs._Entry, "compile") as compiled:
      got = predictor(
        self._put(_images(2, 4, 4, 3)), self.labels, _whole
      ).fetch()
    compiled.assert_not_called()
    self.assertEqual(got["logits"].shape, (2, 3))


if __name__ == "__main__":
  absltest.main()
