"""Clips and their steps."""

import itertools
import time
import tracemalloc
import types
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from absl.testing import parameterized

from eval.pipeline import clip_steps, clips, inputs, packing, views
from models.video.spec import VideoSpec
from robust_tfds import corruptions, devices, errors, hosts, movies, resizing
from robust_tfds.building import geometry
from robust_tfds.conditions import VIDEOS, Condition
from robust_tfds.corruptions import video as perturbations
from robust_tfds.corruptions.ops import mpeg
from robust_tfds.reading import videos as video_files
from tests import quick
from tests.eval.pipeline import one_device

_SPEC = VideoSpec(
  input_px=16, resize="squash", resize_px=16, frames=4, rate=2, num_classes=5
)
_TALL = VideoSpec(
  input_px=24,
  resize_px=28,
  frames=20,
  rate=1,
  num_classes=5,
  interpolation="bicubic",
)
_SETTING = {"seed": 3, "dataset": "ucf101_p", "edition": "paper"}


def _video(frames=20, height=18, width=24, seed=0):
  rng = np.random.default_rng(seed)
  small = rng.integers(0, 256, (height // 6 + 1, width // 6 + 9, 3), np.uint8)
  large = small.repeat(6, axis=0).repeat(6, axis=1)
  return np.stack(
    [np.roll(large, 2 * t, axis=1)[:height, :width] for t in range(frames)]
  )


def _example(name="v", video=None, data=None, fps=30.0):
  if data is None:
    data = movies.encode(_video() if video is None else video)
  return {
    "video": data,
    "fps": fps,
    "label": 3,
    "example_id": name.encode(),
    "group_id": b"g",
  }


def _source(*examples, batch_size=2):
  return types.SimpleNamespace(
    batch_size=batch_size,
    host=hosts.Host(),
    rows=lambda start, stop, skipped: itertools.islice(examples, start, stop),
  )


def _want(example, condition, spec, how):
  """What `perturb_video` and Pillow make of the whole video."""
  text = example["example_id"].decode()
  video, fps = video_files.decode(example["video"]), example["fps"]
  if condition.name:
    key = condition.key(3, "ucf101_p", text)
    video = np.asarray(
      corruptions.perturb_video(
        video, condition.name, condition.level, key=key, fps=fps
      )
    )
  if how.sampling == "uniform":
    at = views.uniform_indices(len(video), spec.frames)
  else:
    at = views.view_indices(len(video), fps, spec.frames, spec.rate, how.count)
  frames = [geometry.apply(video[n], spec.geometry) for n in at.ravel()]
  return np.reshape(frames, (*at.shape, spec.input_px, spec.input_px, 3))


class ShowTest(one_device.TestCase):
  def _read(self, examples, conditions, specs, how, batch_size=2):
    source = _source(*examples, batch_size=batch_size)
    reader = clips.Reader(
      source,
      conditions,
      specs,
      views=how.count,
      sampling=how.sampling,
      **_SETTING,
    )
    rows = list(reader.rows(0))
    return [
      reader.batch(rows[i : i + batch_size])
      for i in range(0, len(rows), batch_size)
    ]

  @quick.cases(
    ("", "shot_noise", "mpeg1", "sampling", "jumbling", "freezing"),
    (
      *("motion_blur", "zoom_blur", "jpeg", "mpeg2", "reverse_sampling"),
      *("static_rotation", "random_rotation", "translation"),
    ),
  )
  @pytest.mark.slow
  def test_what_the_whole_videos_give(self, name):
    # Of several sizes and lengths, odd sides, upright: one canvas.
    examples = [
      _example("a", _video(45, 33, 41)),
      _example("b", _video(9, 60, 26, seed=1), fps=25.0),
      _example("c", _video(30, 33, 41, seed=2)),
    ]
    condition = VIDEOS.condition(name, 2 if name else 0)
    specs, how = {"a": _SPEC, "b": _TALL}, views.Views(3)
    show = clips.Show(self.mesh, specs, **_SETTING)
    (batch,) = self._read(examples, [condition], specs, how, 4)
    placed = show.put(batch)
    for spec in specs.values():
      got, sizes = show.see(placed, condition, spec)
      self.assertIsNone(sizes)
      self.assertEqual(got.dtype, np.uint8)
      for row, example in zip(got, examples):
        want = _want(example, condition, spec, how)
        np.testing.assert_array_equal(row, want)
      self.assertFalse(np.asarray(got)[3:].any())

  def test_uniform_sampling(self):
    example, how = _example(video=_video(45)), views.Views(1, "uniform")
    condition = Condition("sampling", 2)
    (batch,) = self._read([example], [condition], {"a": _SPEC}, how, 1)
    show = clips.Show(self.mesh, {"a": _SPEC}, **_SETTING)
    placed = show.put(batch)
    for c in (Condition(), condition):
      got, _ = show.see(placed, c, _SPEC)
      np.testing.assert_array_equal(got[0], _want(example, c, _SPEC, how))

  @pytest.mark.slow
  def test_shapes_are_those_of_what_is_seen(self):
    conditions = [Condition(), Condition("jpeg", 1), Condition("mpeg1", 1)]
    specs = {"a": _SPEC, "b": _TALL}
    (batch,) = self._read([_example()], conditions, specs, views.Views(2))
    show = clips.Show(self.mesh, specs, **_SETTING)
    shapes, placed = show.shapes(batch), show.put(batch)
    for condition, spec in itertools.product(conditions, specs.values()):
      ahead, _ = show.see(shapes, condition, spec)
      got, _ = show.see(placed, condition, spec)
      self.assertEqual((ahead.shape, ahead.dtype), (got.shape, got.dtype))

  def test_models_that_see_the_same_share_it(self):
    specs = {"a": _SPEC, "b": _TALL, "c": _SPEC}
    (batch,) = self._read([_example()], [], specs, views.Views(1))
    show = clips.Show(self.mesh, specs, **_SETTING)
    placed, noise = show.put(batch), Condition("shot_noise", 1)
    first = [show.see(placed, noise, s)[0] for s in specs.values()]
    self.assertIs(first[0], first[2])
    self.assertIsNot(show.see(placed, Condition(), _SPEC)[0], first[0])

  def test_prepared_videos_are_shown_as_they_are(self):
    (batch,) = self._read([_example()], [], {"a": _SPEC}, views.Views(1))
    show = clips.Show(self.mesh, {"a": _SPEC}, fly=False, **_SETTING)
    placed = show.put(batch)
    clean, _ = show.see(placed, Condition(), _SPEC)
    got, _ = show.see(placed, Condition("mpeg1", 5), _SPEC)
    np.testing.assert_array_equal(got, clean)

  @pytest.mark.slow
  def test_nothing_waits_for_the_devices(self):
    conditions = [
      VIDEOS.condition(name, 3) for name in ("shot_noise", "translation")
    ]
    (batch,) = self._read(
      [_example()], conditions, {"a": _SPEC}, views.Views(1)
    )
    show = clips.Show(self.mesh, {"a": _SPEC}, **_SETTING)
    placed = show.put(batch)
    want = [show.see(placed, c, _SPEC)[0] for c in conditions]

    @jax.jit
    def late(frames, turns):
      spun = jax.lax.fori_loop(0, turns, lambda _, x: jnp.sin(x + 1), frames[0])
      return frames + (spun > 2).astype(np.uint8)

    def busy(turns):
      return late(placed.frames.astype(np.float32), turns).astype(np.uint8)

    jax.block_until_ready(busy(1))
    start = time.perf_counter()
    jax.block_until_ready(busy(100))
    turns = int(300 / (time.perf_counter() - start))  # about three seconds
    placed.frames, placed.condition = busy(turns), None
    got = [show.see(placed, c, _SPEC)[0] for c in conditions]
    self.assertFalse(placed.frames.is_ready())
    for some, others in zip(got, want, strict=True):
      np.testing.assert_array_equal(some, others)

  def test_one_compilation_a_perturbation(self):
    # Sizes of one canvas, several lengths, levels and batches.
    examples = [
      _example(str(i), _video(12 + 9 * i, 240 - i, 320 - 2 * i))
      for i in range(3)
    ]
    conditions = [Condition("translation", s) for s in (1, 5)]
    batches = self._read(examples, conditions, {"a": _SPEC}, views.Views(1), 1)
    show = clips.Show(self.mesh, {"a": _SPEC}, **_SETTING)
    with jax.log_compiles(), self.assertLogs("jax", "WARNING") as logs:
      for batch in batches:
        for condition in conditions:
          show.see(show.put(batch), condition, _SPEC)
    text = [m for m in logs.output if "Finished XLA compilation" in m]
    # Gather, crop, put together, and translation in frames that fill their
    # canvas and in those that do not.
    self.assertLessEqual(len(text), 8, text)


class ReaderTest(one_device.TestCase):
  def _reader(self, source, conditions, **changes):
    setting = {"views": 2, **_SETTING, **changes}
    return clips.Reader(source, conditions, {"a": _SPEC, "b": _TALL}, **setting)

  def test_a_video_is_decoded_once_for_a_whole_run(self):
    examples = [_example(str(i), _video(40, seed=i)) for i in range(3)]
    conditions = VIDEOS.conditions()
    reader = self._reader(_source(*examples, batch_size=3), conditions)
    show = clips.Show(self.mesh, {"a": _SPEC, "b": _TALL}, **_SETTING)
    files, decoded = [e["video"] for e in examples], []
    decode = video_files._decoded

    def counted(video):
      decoded.append(video)
      return decode(video)

    with mock.patch.object(video_files, "_decoded", counted):
      batch = reader.batch(list(reader.rows(0)))
      placed = show.put(batch)
      codecs = [c for c in conditions if "mpeg" in c.name]
      for condition in codecs:
        for spec in (_SPEC, _TALL):
          show.see(placed, condition, spec)
    self.assertCountEqual([v for v in decoded if v in files], files)
    # The coded ones once a condition and video, not a model.
    self.assertLen(decoded, 3 + 3 * len(codecs))

  def test_rows_come_in_order_from_any_place(self):
    examples = [_example(str(i), _video(3 + i % 5)) for i in range(12)]
    reader = self._reader(_source(*examples), [])
    ids = [r.example["example_id"].decode() for r in reader.rows(4, 11)]
    self.assertEqual(ids, [str(i) for i in range(4, 11)])

  def test_no_more_is_read_ahead_than_there_are_workers(self):
    read = []

    def rows(start, stop, skipped):
      for i in range(1000):
        read.append(i)
        yield _example(str(i), data=data)

    data = movies.encode(_video(3))
    source = _source()
    source.rows = rows
    with mock.patch.object(clips, "_WORKERS", 2):
      rows = self._reader(source, []).rows(0)
      next(rows)
      self.assertLessEqual(len(read), 4)
      rows.close()

  def test_batches(self):
    examples = [_example(str(i), _video(10 + i)) for i in range(3)]
    reader = self._reader(_source(*examples), [])
    rows = list(reader.rows(0))
    batch = reader.batch(rows[2:])
    self.assertIsInstance(batch, inputs.Batch)
    self.assertEqual(batch.mask.tolist(), [True, False])
    self.assertEqual(batch.label.tolist(), [3, -1])
    self.assertEqual(batch.example_id, ["2", ""])
    self.assertNotIn("video", batch.examples[0])
    empty = reader.batch([])
    self.assertFalse(empty.mask.any())
    self.assertGreater(reader.usual_nbytes, 0)

  def test_videos_of_one_canvas_share_batches(self):
    sizes = ((240, 320), (239, 316), (320, 240))
    examples = [_example(str(s), _video(2, *s)) for s in sizes]
    reader = self._reader(_source(*examples), [])
    groups = [reader.group(row) for row in reader.rows(0)]
    self.assertEqual(groups[0], groups[1])
    self.assertNotEqual(groups[0], groups[2])

  def test_a_cut_off_file_is_named(self):
    broken = _example("v_Archery_g01.avi", data=movies.encode(_video())[:400])
    reader = self._reader(_source(broken), [])
    with self.assertRaisesRegex(
      video_files.BrokenVideoError, "v_Archery_g01.avi: "
    ):
      list(reader.rows(0))

  def test_a_codec_that_loses_frames_is_named(self):
    condition = Condition("mpeg1", 1)
    reader = self._reader(_source(_example("v.avi")), [condition])
    batch = reader.batch(list(reader.rows(0)))
    show = clips.Show(self.mesh, {"a": _SPEC}, **_SETTING)
    lost = errors.UserError("The codec returned 3 frames, expected 20.")
    with mock.patch.object(mpeg, "frames_at", side_effect=lost):
      placed = show.put(batch)
      with self.assertRaisesRegex(
        errors.UserError, "v.avi: mpeg1_1: The codec"
      ):
        show.see(placed, condition, _SPEC)

  @pytest.mark.slow
  def test_a_long_video_needs_no_more_memory_than_what_is_shown_of_it(self):
    conditions = [Condition(), Condition("mpeg1", 1), Condition("sampling", 1)]
    peaks = []
    for count in (60, 200):
      data = movies.encode(
        _video(count, 120, 160), options={"preset": "ultrafast"}
      )
      reader = self._reader(_source(_example(data=data)), conditions, views=1)
      list(reader.rows(0))
      tracemalloc.start()
      (row,) = reader.rows(0)
      peaks.append(tracemalloc.get_traced_memory()[1])
      tracemalloc.stop()
      shown = 2 * (_SPEC.frames + _TALL.frames)
      self.assertLessEqual(row.frames.nbytes, shown * 120 * 160 * 3)
      self.assertLess(row.nbytes - row.frames.nbytes, 1 << 20)
    # 140 frames more are 8 MB.
    self.assertLess(peaks[1] - peaks[0], 4 << 20)


class ClipStepsTest(one_device.TestCase):
  """The steps on the devices: each alone, rows by themselves, padding apart."""

  def test_every_frame_has_its_own_draws(self):
    frames = one_device.pixels(2, 3, 32, 32, 3)
    keys = np.array([[1, 2], [3, 4]], np.uint32)
    numbers = np.array([[0, 7, 7], [5, 1, 0]])
    drawn = perturbations.draws(
      "gaussian_noise",
      2,
      edition="paper",
      sizes=np.full((6, 2), 32),
      keys=keys.repeat(3, axis=0),
      numbers=numbers.ravel(),
    )
    step = clip_steps.perturb(self.mesh, "gaussian_noise", ("key",), False)
    got = step(np.int32(2), frames, drawn["key"].reshape(2, 3, 2))
    for i in range(2):
      want = perturbations.perturb_frames(
        frames[i], "gaussian_noise", 2, key=keys[i], first=numbers[i]
      )
      np.testing.assert_array_equal(got[i].reshape(want.shape), want)

  def test_crop(self):
    frames = one_device.pixels(2, 3, 40, 30, 3)
    sizes = [(40, 30), (21, 25)]
    taps = [[resizing.taps(n, 16) for n in size] for size in sizes]
    down, across = (resizing.stack([t[axis] for t in taps]) for axis in (0, 1))
    got = clip_steps.crop(self.mesh)(frames, *down, *across)
    self.assertEqual(got.shape, (2, 3, 16, 48))
    for i, (height, width) in enumerate(sizes):
      for j in range(3):
        want = resizing.resized(frames[i, j, :height, :width], *taps[i])
        np.testing.assert_array_equal(got[i, j].reshape(16, 16, 3), want)


class ViewsTest(parameterized.TestCase):
  """Views of videos: where they lie, and what temporal perturbations change."""

  def test_one_view_of_a_long_video_starts_at_its_first_frame(self):
    got = views.view_indices(300, 30.0, 8, 8, 1)
    np.testing.assert_array_equal(got[0], [0, 9, 18, 27, 36, 45, 54, 63])

  def test_views_are_spread_over_what_is_left(self):
    got = views.view_indices(300, 30.0, 8, 8, 10)
    np.testing.assert_array_equal(got[:, 0], [23.6 * v // 1 for v in range(10)])
    self.assertLess(got.max(), 300)

  def test_other_frame_rates_span_the_same_time(self):
    got = views.view_indices(300, 15.0, 8, 8, 1)
    np.testing.assert_array_equal(
      got[0], (np.linspace(0, 1, 8) * 31).astype(int)
    )

  @parameterized.parameters(1, 3, 15)
  def test_short_videos_repeat_their_last_frame(self, frames):
    got = views.view_indices(frames, 30.0, 8, 8, 2)
    self.assertEqual(got.max(), frames - 1)
    self.assertTrue((np.diff(got, axis=1) >= 0).all())

  @parameterized.parameters(1, 2, 8, 100)
  def test_uniform_over_the_whole_video(self, frames):
    got = views.uniform_indices(frames, 8)
    self.assertEqual(got.shape, (1, 8))
    self.assertTrue(((got >= 0) & (got < frames)).all())
    self.assertTrue((np.diff(got) >= 0).all())


class NumbersTest(parameterized.TestCase):
  def _numbers(self, condition, sampling="dense", views_=2):
    key = condition.key(0, "ucf101_p", "v")
    how = views.Views(views_, sampling)
    return how.numbers(50, 30.0, condition, key, views.Clip(4, 3))

  def test_most_conditions_show_what_clean_shows(self):
    want = views.view_indices(50, 30.0, 4, 3, 2)
    for condition in (Condition(), Condition("jpeg", 2), Condition("mpeg1", 1)):
      np.testing.assert_array_equal(self._numbers(condition), want)

  @parameterized.parameters("freezing", "sampling", "jumbling")
  def test_temporal_ones_come_before_the_sampling(self, name):
    condition = Condition(name, 3)
    key = condition.key(0, "ucf101_p", "v")
    order = perturbations.frame_indices(50, name, 3, key=key)
    want = order[views.view_indices(len(order), 30.0, 4, 3, 2)]
    np.testing.assert_array_equal(self._numbers(condition), want)
    (uniform,) = self._numbers(condition, "uniform", 1)
    want = order[views.uniform_indices(len(order), 4)[0]]
    np.testing.assert_array_equal(uniform, want)


def _outputs(seed: int, rows: int) -> dict[str, np.ndarray]:
  rng = np.random.default_rng(seed)
  return {
    "finite": rng.integers(0, 2, rows).astype(bool),
    "bits": rng.integers(0, 2, (rows, 3)).astype(bool),
    "top5": rng.integers(-9, 10**6, (rows, 2, 5)).astype(np.int32),
    "score": rng.normal(size=(rows, 2, 5)).astype(np.float32),
    "distance": np.array([np.nan, np.inf, -0.0, 1e-45] * rows, np.float32)[
      :rows
    ],
    "levels": rng.integers(0, 256, (rows, 4)).astype(np.uint8),
    "classes": rng.integers(-5, 5, (rows, 3)).astype(np.int16),
    "half": rng.normal(size=(rows, 2)).astype(np.float16),
    "short": rng.normal(size=(rows, 2)).astype(jnp.bfloat16),
    "nothing": np.zeros((rows, 0, 4), np.float32),
  }


class PackedTest(one_device.TestCase):
  """Outputs come back as they were computed, in one transfer."""

  def _assert_same(self, got, want):
    self.assertEqual(list(got), list(want))
    for name, array in want.items():
      self.assertEqual(got[name].dtype, array.dtype, name)
      self.assertEqual(got[name].shape, array.shape, name)
      self.assertEqual(got[name].tobytes(), array.tobytes(), name)

  @parameterized.parameters(1, 2, 7)
  def test_every_kind_of_output_comes_back(self, rows):
    want = _outputs(rows, rows)
    names = list(want)

    def step(variables, *arrays):
      return dict(zip(names, arrays))

    packed = packing.Packed(step, self.mesh, None, len(names))
    arrays = [self.put(x) for x in want.values()]
    got = packed(*arrays)
    got.block_until_ready()
    self._assert_same(got.fetch(), want)
    self._assert_same(got.fetch(), want)

  def test_the_first_argument_is_the_variables(self):
    variables = devices.put_replicated({"w": np.float32(3)}, self.mesh)
    packed = packing.Packed(
      lambda v, x: {"y": x * v["w"]}, self.mesh, variables, 1
    )
    rows = self.put(np.ones((2, 1), np.float32))
    self.assertEqual(packed(rows).fetch()["y"].tolist(), [[3], [3]])

  def test_shapes_with_outputs_of_other_shapes(self):
    # One step, two layouts: of every call its own.
    packed = packing.Packed(
      lambda _, x: {"sum": x.sum(1), "x": x}, self.mesh, None, 1
    )
    wide, narrow = (self.put(np.ones((2, width), np.int32)) for width in (5, 1))
    both = packed(wide), packed(narrow)
    self.assertEqual([o.fetch()["x"].shape for o in both], [(2, 5), (2, 1)])
    self.assertEqual(both[0].fetch()["sum"].tolist(), [5, 5])

  def test_of_shapes_it_is_compiled_ahead(self):
    traces = []

    def step(_, x):
      traces.append(1)
      return {"x": x}

    packed = packing.Packed(step, self.mesh, None, 1)
    rows = np.arange(6, dtype=np.int32).reshape(2, 3)
    packed(self.shape(rows))
    got = packed(self.put(rows)).fetch()["x"]
    self.assertEqual(got.tolist(), rows.tolist())
    self.assertLen(traces, 1)
