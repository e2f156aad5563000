"""Models on the host: in order, one thread, equal to what devices would give."""

import concurrent.futures
import threading
import types
from unittest import mock

import jax.numpy as jnp
import numpy as np
from absl.testing import parameterized

from eval.pipeline import on_host, programs
from tests.eval.pipeline import one_device


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
