"""The steps of a training: optimizers, schedules, the loop, numbers, checkpoints."""

import dataclasses
import json
import math
import shutil
import types
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from absl.testing import absltest, parameterized
from etils import epath

from models.training.config import Keep, Optimizer, Schedule
from models.training.optimization import (
  checkpoints,
  loop,
  metrics,
  optimizers,
  schedules,
  state,
  steps,
  validation,
)
from models.training.optimization.checkpoints import Checkpoints
from models.training.optimization.metrics import Metrics, Pending
from models.training.optimization.state import State
from robust_tfds import conditions, devices, errors, hosts, models, reading
from tests import in_folder, tiny_files
from tests.models import drawn
from tests.models.training import tiny_trainings


class StateTest(absltest.TestCase):
  def test_parted_and_together(self):
    model = tiny_trainings.network()
    variables = model.init(jax.random.key(0))
    config = tiny_trainings.config(optimizer__ema=0.9)
    optimizer = optimizers.make_optimizer(
      config.optimizer, model.decayed_paths()
    )
    first = state.first(model, variables, optimizer, config)
    self.assertCountEqual(first.statistics, ["norm/mean", "norm/var"])
    self.assertIn("norm/scale", first.parameters)
    for whole in (first.variables, first.averaged):
      jax.tree.map(np.testing.assert_array_equal, whole, variables)
    without = state.first(model, variables, optimizer, tiny_trainings.config())
    self.assertEqual(without.ema, {})
    jax.tree.map(np.testing.assert_array_equal, without.averaged, variables)


_RATES = (0.1, 0.1, 0.05, 0.05, 0.2)


_DECAY = 0.01


_DECAYED = frozenset({("fc", "kernel")})


def _gradients() -> list[dict[str, np.ndarray]]:
  rng = np.random.default_rng(0)
  return [
    {
      "fc/kernel": rng.normal(size=(2, 3)),
      "fc/bias": rng.normal(size=3),
      "cls_token": rng.normal(size=(1, 1, 3)),  # a matrix, but none that decays
    }
    for _ in _RATES
  ]


def _got(**fields) -> dict[str, np.ndarray]:
  """Weights after a few steps."""
  optimizer = optimizers.make_optimizer(
    Optimizer(learning_rate=0.1, **fields), _DECAYED
  )
  weights = jax.tree.map(np.ones_like, _gradients()[0])
  state = optimizer.init(weights)
  for gradient, rate in zip(_gradients(), _RATES):
    updates, state = optimizer.update(
      gradient, state, weights, learning_rate=rate
    )
    weights = optax.apply_updates(weights, updates)
  return weights


def _sgd(g, w, memory, rate, momentum=0.9, dampening=0.0, nesterov=False):
  """torch.optim.SGD's algorithm, as its documentation has it."""
  g = g + _DECAY * w
  buffer = memory.get("b")
  memory["b"] = b = (
    g if buffer is None else momentum * buffer + (1 - dampening) * g
  )
  return w - rate * (g + momentum * b if nesterov else b)


def _adam(g, w, memory, rate, decoupled=False):
  """torch.optim.Adam's and AdamW's."""
  if not decoupled:
    g = g + _DECAY * w
  t = memory["t"] = memory.get("t", 0) + 1
  m = memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * g
  v = memory["v"] = 0.999 * memory.get("v", 0) + 0.001 * g * g
  if decoupled:
    w = w - rate * _DECAY * w
  m, v = m / (1 - 0.9**t), v / (1 - 0.999**t)
  return w - rate * m / (np.sqrt(v) + 1e-8)


def _rmsprop(g, w, memory, rate):
  """tf.compat.v1.train.RMSPropOptimizer's: the rate enters the momentum."""
  g = g + _DECAY * w
  s = memory["s"] = 0.9 * memory.get("s", 1.0) + 0.1 * g * g
  b = memory["b"] = 0.9 * memory.get("b", 0) + rate * g / np.sqrt(s + 1.0)
  return w - b


class OptimizersTest(parameterized.TestCase):
  @parameterized.parameters(
    (_sgd, {}, {"name": "sgd", "momentum": 0.9}),
    (
      _sgd,
      {"dampening": 0.9},
      {"name": "sgd", "momentum": 0.9, "dampening": 0.9},
    ),
    (
      _sgd,
      {"nesterov": True},
      {"name": "sgd", "momentum": 0.9, "nesterov": True},
    ),
    (_adam, {}, {"name": "adam"}),
    (_adam, {"decoupled": True}, {"name": "adamw"}),
    (_rmsprop, {}, {"name": "rmsprop", "momentum": 0.9, "epsilon": 1.0}),
  )
  def test_formulas(self, formula, options, fields):
    got = _got(weight_decay=_DECAY, **fields)
    for name in _gradients()[0]:
      weights = np.ones_like(_gradients()[0][name])
      memory: dict = {}
      for gradient, rate in zip(_gradients(), _RATES):
        weights = formula(gradient[name], weights, memory, rate, **options)
      np.testing.assert_allclose(got[name], weights, rtol=1e-5)

  def test_decay_spares_norms_and_biases(self):
    all_, spared, none = (
      _got(weight_decay=0.1, decay_all=True),
      _got(weight_decay=0.1, decay_all=False),
      _got(),
    )
    np.testing.assert_array_equal(spared["fc/kernel"], all_["fc/kernel"])
    for name in ("fc/bias", "cls_token"):
      np.testing.assert_array_equal(spared[name], none[name])
      self.assertTrue((all_[name] != none[name]).all())

  def test_clipping(self):
    """A gradient longer than the norm is brought to it."""
    fields = Optimizer(learning_rate=1.0, clip_norm=0.5)
    optimizer = optimizers.make_optimizer(fields, _DECAYED)
    gradient = {"a": np.array([3.0, 4.0])}
    updates, _ = optimizer.update(
      gradient, optimizer.init(gradient), gradient, learning_rate=1.0
    )
    np.testing.assert_allclose(updates["a"], [-0.3, -0.4], rtol=1e-6)

  def test_refusals(self):
    with self.assertRaisesRegex(errors.UserError, "optimizer 'sdg'.*sgd"):
      _got(name="sdg")
    with self.assertRaisesRegex(errors.UserError, "with nesterov, expected 0"):
      _got(momentum=0.9, dampening=0.9, nesterov=True)
    for name in ("adam", "adamw"):
      words = f"momentum: got 0.9 with {name}, which has none"
      with self.assertRaisesRegex(errors.UserError, words):
        _got(name=name, momentum=0.9)
    with self.assertRaisesRegex(errors.UserError, "got 0 with nesterov"):
      _got(name="sgd", nesterov=True)


def _rates(steps: int, per_epoch: int = 10, **fields) -> np.ndarray:
  rate = schedules.make_schedule(Schedule(**fields), 0.1, steps, per_epoch)
  return np.array([float(rate(step)) for step in range(steps)])


class SchedulesTest(parameterized.TestCase):
  def test_cosine_to_a_floor_after_a_warmup(self):
    got = _rates(110, name="cosine", floor=1e-3, warmup=10)
    np.testing.assert_allclose(got[:10], 0.1 * np.arange(10) / 10, rtol=1e-6)
    cosine = (1 + np.cos(np.pi * np.arange(100) / 100)) / 2
    want = 1e-3 + (0.1 - 1e-3) * cosine
    np.testing.assert_allclose(got[10:], want, rtol=1e-5)

  def test_step_at_epochs(self):
    got = _rates(40, name="step", at=(1, 3))
    want = np.repeat([0.1, 0.01, 0.001], [10, 20, 10])
    np.testing.assert_allclose(got, want, rtol=1e-6)

  def test_an_epoch_and_a_step_at_one_place_count_twice(self):
    got = _rates(22, name="step", at=(2,), at_steps=(20,))
    np.testing.assert_allclose(got[19:21], [0.1, 0.001], rtol=1e-5)

  def test_step_after_every_few_epochs(self):
    """ALP's: x .94 after each 2 epochs, counted from the first step."""
    got = _rates(50, name="step", every=2, factor=0.94)
    want = 0.1 * 0.94 ** (np.arange(50) // 20)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    warm = _rates(50, name="step", every=2, factor=0.94, warmup=7)
    np.testing.assert_allclose(warm[7:], want[7:], rtol=1e-6)

  def test_steps_that_nobody_names_are_refused(self):
    with self.assertRaisesRegex(errors.UserError, "schedule.at: got none"):
      _rates(3, name="step")

  def test_constant(self):
    np.testing.assert_allclose(_rates(3), 0.1)
    np.testing.assert_allclose(_rates(3, name="plateau"), 0.1)

  def test_plateau(self):
    """torch's ReduceLROnPlateau: patience 2 multiplies at the third bad epoch."""
    config = Schedule(name="plateau", patience=2, factor=0.5)
    plateau, scales = schedules.Plateau(), []
    for loss in (1.0, 0.5, 0.49999, 0.6, 0.7, 0.6, 0.6, 0.4, 0.5):
      plateau = plateau.after(loss, config, 0.1)
      scales.append(plateau.scale)
    self.assertEqual(scales, [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5])
    self.assertEqual((plateau.best, plateau.bad), (0.4, 1))
    other = schedules.Plateau().after(1.0, Schedule(), 0.1)
    self.assertEqual(other, schedules.Plateau(best=math.inf))

  def test_a_plateau_ends_where_torchs_does(self):
    """Its rate never falls by 1e-8 or less: 1e-8 stays, of 1e-5 and tenths."""
    config = Schedule(name="plateau", patience=0, factor=0.1)
    plateau, rates = schedules.Plateau(), []
    for _ in range(6):
      plateau = plateau.after(1.0, config, 1e-5)
      rates.append(1e-5 * plateau.scale)
    want = [1e-5, 1e-6, 1e-7, 1e-8, 1e-8, 1e-8]
    np.testing.assert_allclose(rates, want, rtol=1e-6)

  @parameterized.parameters(
    ({"name": "cosin"}, "schedule 'cosin'.*cosine"),
    ({"name": "step", "at": (1,), "every": 2}, "one of the two"),
    (
      {"name": "step", "at": (5, 9)},
      "the first after 5 of 5 steps.*never fall",
    ),
    ({"name": "step", "every": 6}, "the first after 6 of 5 steps.*never fall"),
    ({"warmup": 5}, "warmup: got 5 of 5 steps"),
  )
  def test_refusals(self, fields, message):
    with self.assertRaisesRegex(errors.UserError, message):
      schedules.make_schedule(Schedule(**fields), 0.1, 5, 1)


def _after(count: int = 1, model=None, variables=None, **changes):
  """States before and after some steps on one batch, and the last numbers."""
  prepared = tiny_trainings.prepared(recipe={"name": "standard"}, **changes)
  config, model = prepared.config, model or prepared.model
  optimizer = optimizers.make_optimizer(config.optimizer, model.decayed_paths())
  step = jax.jit(
    steps.Steps(model, prepared.recipe, optimizer, lambda i: 0.5, config)
  )
  variables = variables or prepared.variables
  before = now = state.first(model, variables, optimizer, config)
  batch = next(prepared.source.batches(batch_size=8, seed=0, epoch=0))
  del batch["id"]
  for _ in range(count):
    now, numbers = step(now, batch, jnp.float32(1))
  return before, now, numbers, batch


class StepsTest(absltest.TestCase):
  def test_one_step_of_sgd(self):
    """Weights move by the rate times the gradient of the loss, statistics by .1."""
    before, after, numbers, batch = _after()
    model = tiny_trainings.network()

    def loss(variables):
      logits, _ = model.apply_train(
        variables, batch["image"], jax.random.key(0)
      )
      log = jax.nn.log_softmax(logits)
      return -log[jnp.arange(8), batch["label"]].mean()

    value, gradient = jax.value_and_grad(loss)(before.variables)
    kernel = before.parameters["head/kernel"] - 0.5 * gradient["head"]["kernel"]
    np.testing.assert_allclose(
      after.parameters["head/kernel"], kernel, rtol=1e-5
    )
    np.testing.assert_allclose(numbers["loss"], value, rtol=1e-6)
    pixels = model.preprocess(batch["image"])
    mean = 0.1 * pixels.mean((0, 1, 2))
    np.testing.assert_allclose(after.statistics["norm/mean"], mean, rtol=1e-4)
    self.assertEqual(int(after.step), 1)

  def test_parts_of_a_batch_are_averaged(self):
    changes = {"model__frozen_norms": True, "model__checkpoint": ""}
    _, whole, numbers, _ = _after(3, **changes)
    _, parts, of_parts, _ = _after(3, optimizer__accumulate=4, **changes)
    for name, array in whole.parameters.items():
      np.testing.assert_allclose(
        parts.parameters[name], array, rtol=1e-4, atol=1e-6
      )
    np.testing.assert_allclose(of_parts["loss"], numbers["loss"], rtol=1e-5)
    np.testing.assert_array_equal(whole.statistics["norm/mean"], 0)

  def test_mean_of_the_weights(self):
    """Decays (1 + n) / (10 + n) at first, as TensorFlow's."""
    before, after, _, _ = _after(optimizer__ema=0.999)
    name = "head/kernel"
    want = 0.1 * before.parameters[name] + 0.9 * after.parameters[name]
    np.testing.assert_allclose(after.ema[name], want, rtol=1e-5)
    self.assertIn("norm/mean", after.ema)

  def test_a_mean_leaves_what_does_not_move(self):
    """Frozen norms to the last bit; their statistics too, under weight decay."""
    model = tiny_trainings.network()
    frozen = ("norm/scale", "norm/bias", "norm/mean", "norm/var")
    rng = np.random.default_rng(0)
    drawn = {p: rng.uniform(0.1, 3, 3).astype(np.float32) for p in frozen}
    changes = {"optimizer__ema": 0.7, "model__frozen_stages": 1}
    prepared = tiny_trainings.prepared(**changes)
    before = state.first(
      model,
      state.nested({**state.parted(prepared.variables, ())[0], **drawn}),
      optimizers.make_optimizer(
        prepared.config.optimizer, model.decayed_paths()
      ),
      prepared.config,
    )
    make = steps.Steps(
      model, prepared.recipe, None, lambda i: 0.5, prepared.config
    )
    now = before
    for n in range(40):
      ema = make._averaged(now, {**now.parameters, **now.statistics})
      now = dataclasses.replace(now, step=jnp.int32(n + 1), ema=ema)
    for name, array in drawn.items():
      np.testing.assert_array_equal(now.ema[name], array)

  def test_frozen_stages(self):
    more = {"weight_decay": 0.1, "ema": 0.999}
    before, after, _, _ = _after(
      30,
      variables=drawn.variables(tiny_trainings.network()),
      model__frozen_stages=1,
      **{f"optimizer__{name}": value for name, value in more.items()},
    )
    self.assertEqual(set(after.parameters), {"head/kernel", "head/bias"})
    for arrays in (after.statistics, after.ema):  # to the byte
      for name in ("norm/scale", "norm/bias", "norm/mean", "norm/var"):
        np.testing.assert_array_equal(arrays[name], before.statistics[name])
    self.assertFalse(
      np.array_equal(
        after.parameters["head/kernel"], before.parameters["head/kernel"]
      )
    )

  def test_bfloat16_on_float32_weights(self):
    model = dataclasses.replace(tiny_trainings.network(), dtype="bfloat16")
    _, after, numbers, _ = _after(2, model)
    kinds = {x.dtype for x in jax.tree.leaves(after.variables)}
    self.assertEqual(kinds, {jnp.dtype("float32")})
    self.assertTrue(np.isfinite(numbers["loss"]))


class _Scenes:
  """Pictures with a box each."""

  def __init__(self, count: int):
    """So many, all of them to choose on."""
    self._count = count

  def steps(self, batch_size: int, split: str, remainder: str) -> int:
    """Batches, with a last one that is short."""
    del split, remainder
    return -(-self._count // batch_size)

  def batches(self, *, batch_size, seed, **_):
    """As `models.training.data.Source.batches`."""
    for begin in range(0, self._count, batch_size):
      rows = range(begin, min(begin + batch_size, self._count))
      ids = [f"s{i}" for i in rows]
      yield {
        "image": np.stack([tiny_files.noise(64, 64, seed=i) for i in rows]),
        "size": np.full((len(ids), 2), 64, np.int32),
        "boxes": np.float32([[[4, 4, 30, 40]]] * len(ids)),
        "labels": np.int32([[i % 10] for i in rows]),
        "key": conditions.raw_keys(seed, "scenes", "train", 1, ids),
        "id": ids,
      }


def _of(prepared, source=None):
  return validation.Validation(
    prepared.config,
    prepared.model,
    source or prepared.source,
    devices.mesh(),
  )


class ValidationTest(absltest.TestCase):
  def test_every_label_counts_once(self):
    source = tiny_trainings.Source(24, validation=11)  # batches of 8 and 3
    prepared = tiny_trainings.prepared(source, data__validation=0.3)
    held = slice(24, 35)
    logits = prepared.model.apply(prepared.variables, source.image[held])
    wrong = np.argmax(logits, -1) != source.label[held]
    got = _of(prepared)(prepared.variables)
    self.assertAlmostEqual(got["validation_error"], wrong.mean(), places=6)
    self.assertEqual(validation.score(got), got["validation_error"])
    log = np.asarray(jax.nn.log_softmax(logits))
    loss = -log[np.arange(11), source.label[held]].mean()
    self.assertAlmostEqual(got["validation_loss"], loss, places=5)

  def test_fewer_examples_than_hosts(self):
    source = tiny_trainings.Source(24, validation=3)
    prepared = tiny_trainings.prepared(source, data__validation=0.1)
    many = mock.patch.object(hosts, "this_host", return_value=hosts.Host(0, 4))
    words = "got 0.1, which leaves 3 examples .* fewer than the 4 hosts"
    with many, self.assertRaisesRegex(errors.UserError, words):
      _of(prepared)

  @pytest.mark.slow
  def test_every_scene_counts_once(self):
    model = models.get("tiny_fasterrcnn")
    variables = model.init(jax.random.key(0))
    source, got = _Scenes(5), []
    for batch_size in (8, 2):
      config = tiny_trainings.config(batch_size=batch_size)
      made = validation.Validation(config, model, source, devices.mesh())
      got.append(made(variables))
    self.assertAlmostEqual(
      got[0]["validation_loss"], got[1]["validation_loss"], places=4
    )
    self.assertEqual(validation.score(got[0]), got[0]["validation_loss"])


class MetricsTest(in_folder.TestCase):
  def setUp(self):
    super().setUp()
    self.file = epath.Path(self.root) / metrics.FILE

  def _open(self):
    return metrics.Metrics(self.file)

  def test_lines(self):
    opened = self._open()
    opened.add({"loss": 1.0})
    opened.add({"loss": 2.0})
    opened.line(2, {"seconds": 0.5})
    opened.add({"loss": 1 / 3})
    opened.line(3, {"validation_error": 0.25})
    self.assertEqual(
      self.file.read_text(),
      "step,loss,seconds,validation_error\n2,1.5,0.5,\n3,0.3333333,,0.25\n",
    )

  def test_going_on(self):
    """Lines after the checkpoint go; what was no line yet is counted."""
    opened = self._open()
    opened.add({"loss": 1.0})
    opened.line(1, {})
    opened.add({"loss": 2.0})
    pending = opened.pending
    opened.add({"loss": 4.0})
    opened.line(3, {})
    whole = self.file.read_text()
    again = self._open()
    again.read(2, pending)
    again.add({"loss": 4.0})
    again.line(3, {})
    self.assertEqual(self.file.read_text(), whole)

  @parameterized.parameters(
    ("a,b\n1,2\n", "no column 'step'"),
    ("step,loss\n1,x\n", "could not convert string to float: 'x'"),
    ("\0", "is NUL"),
  )
  def test_no_numbers(self, text, message):
    self.file.write_text(text)
    with self.assertRaisesRegex(
      errors.UserError,
      f"metrics.csv: these are not .*{message}.*Remove the file: the same command",
    ):
      self._open().read(2, self._open().pending)

  def test_nothing_is_written_where_nobody_asks(self):
    opened = metrics.Metrics(None)
    opened.add({"loss": 1.0})
    self.assertEqual(opened.line(1, {}), {"step": 1, "loss": 1.0})


def _run(step: int) -> checkpoints.Run:
  pending = Pending(sums={}, count=step)
  return checkpoints.Run(plateau=schedules.Plateau(), metrics=pending)


def _state(step: int) -> State:
  weights = {"a/b": step * jnp.ones(3)}
  return State(jnp.int32(step), weights, {}, (jnp.int32(step),), {})


class CheckpointsTest(in_folder.TestCase, parameterized.TestCase):
  def _open(self, **facts):
    facts = facts or {"config.seed": 3}
    return checkpoints.Checkpoints(self.root, Keep(last=2, best=1), facts)

  def _save(self, scores):
    opened = self._open()
    for step, score in scores.items():
      opened.save(_state(step), _run(step), score)
    opened.close()
    folder = self.root / checkpoints.FOLDER
    return sorted(int(p.name) for p in folder.iterdir())

  def test_the_last_and_the_best(self):
    first = {1: None, 2: 0.5, 3: 0.2, 4: 0.4, 5: 0.3}
    self.assertEqual(self._save(first), [3, 4, 5])
    left = self.root / checkpoints.FOLDER / "9.orbax-checkpoint-tmp"
    left.mkdir()  # of one that was killed while it wrote
    mesh, opened = devices.mesh(), self._open()
    like = devices.put_replicated(_state(0), mesh)
    state, run = opened.last(like, mesh)
    opened.close()
    want = _run(5).model_copy(update={"facts": {"config.seed": 3}})
    self.assertEqual((int(state.step), run), (5, want))
    np.testing.assert_array_equal(state.parameters["a/b"], [5, 5, 5])
    self.assertEqual(int(state.optimizer[0]), 5)
    self.assertEqual(self._save({6: 0.9, 7: 0.8}), [3, 6, 7])
    self.assertFalse(left.exists())

  def test_none_yet(self):
    self.assertIsNone(self._last())

  def _break_a_record(self, folder):
    (folder / "run" / "metadata").write_text("{")

  def _cut_all_arrays(self, folder):
    for path in (folder / "state").rglob("*"):
      if path.is_file() and path.parent.name == "d":
        path.write_bytes(path.read_bytes()[:20])

  def _last(self, **facts):
    opened = self._open(**facts)
    try:
      like = devices.put_replicated(_state(0), devices.mesh())
      return opened.last(like, devices.mesh())
    finally:
      opened.close()

  @parameterized.parameters("_break_a_record", "_cut_all_arrays")
  def test_a_damaged_one_is_named(self, damage):
    self._save({1: None, 2: None})
    folder = self.root / checkpoints.FOLDER / "2"
    getattr(self, damage)(folder)
    words = r"checkpoints/2: the checkpoint is damaged.*Remove this folder"
    with self.assertRaisesRegex(errors.UserError, words):
      self._last()
    shutil.rmtree(folder)
    self.assertEqual(int(self._last()[0].step), 1)

  def test_another_trainings(self):
    self._save({1: None})
    words = (
      r"checkpoints/1: the state of another training: config.seed: 3 there, 4 now\."
      r" Name another --workdir, or remove .*checkpoints: the training then begins"
    )
    with self.assertRaisesRegex(errors.UserError, words):
      self._last(**{"config.seed": 4})
    record = json.dumps(_run(1).model_dump(exclude={"facts"}))
    (self.root / "checkpoints/1/run/metadata").write_text(record)
    with self.assertRaisesRegex(errors.UserError, "it has no facts"):
      self._last()

  def test_a_disk_that_refuses(self):
    opened = self._open()
    for said, words in (
      ("RESOURCE_EXHAUSTED: No space left", ".*No space left. Make room"),
      ("PERMISSION_DENIED: no", "PERMISSION_DENIED: no. The same command"),
    ):
      fails = {"wait_until_finished.side_effect": ValueError(said)}
      with (
        mock.patch.object(opened, "_manager", **fails),
        self.assertRaisesRegex(errors.UserError, f"not be written: {words}"),
      ):
        opened.close()
    opened.close()


class _Killed(Exception):
  """In place of a process's end."""


def _loop(prepared, **options) -> loop.Loop:
  options = {"metrics": Metrics(None), "say": lambda text: None, **options}
  return loop.Loop(
    prepared.config,
    prepared.model,
    prepared.recipe,
    prepared.source,
    prepared.variables,
    **options,
  )


def _without_seconds(file: epath.Path) -> list[dict[str, str]]:
  rows = [dict(row) for _, row in reading.csv_file(file)]
  return [{k: v for k, v in row.items() if k != "seconds"} for row in rows]


class LoopTest(in_folder.TestCase):
  def test_it_learns(self):
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(
      source, steps=30, data__validation=0.3, recipe={"name": "standard"}
    )
    metrics = Metrics(None)
    state = _loop(prepared, metrics=metrics).run()
    logits = prepared.model.apply(state.variables, source.image)
    np.testing.assert_array_equal(np.argmax(logits, -1), source.label)
    last = metrics.lines[-1]
    self.assertEqual((last["step"], last["validation_error"]), (30, 0))
    self.assertGreater(metrics.lines[0]["loss"], 10 * last["loss"])

  def test_a_loss_that_is_not_finite(self):
    """Said with its step and its examples, and no checkpoint holds it."""
    prepared = tiny_trainings.prepared(
      optimizer__learning_rate=1e38, schedule__name="constant", batch_size=12
    )
    kept = Checkpoints(epath.Path(self.root), prepared.config.keep, {})
    with self.assertRaisesRegex(
      errors.UserError,
      r"tiny diverged at step [23]: .*loss (nan|inf).* examples: (e\d+, ){7}e\d+"
      r" and 4 more\. .* Another config takes another --workdir\.$",
    ):
      _loop(prepared, checkpoints=kept).run()
    kept.close()
    self.assertEmpty(list((self.root / "checkpoints").glob("[0-9]*")))

  def test_the_best_by_validations_of_their_own_steps(self):
    """An epoch has three steps; at the fifth and tenth nothing was measured."""
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(source, data__validation=0.3)
    kept, scores = Checkpoints(self.root, prepared.config.keep, {}), {}
    save = lambda state, run, score: scores.update({int(state.step): score})
    said = []
    with mock.patch.object(kept, "save", save):
      _loop(prepared, checkpoints=kept, say=said.append).run()
    kept.close()
    self.assertEqual([scores[5], scores[10]], [None, None])
    self.assertIsNotNone(scores[12])
    compiling, *first, last = said
    self.assertRegex(compiling, "^Compiling the step .tiny .* by standard, 8 ")
    self.assertLen(first, 3)
    for line in first[1:]:
      self.assertRegex(line, r"^step \d+ of 12: .*loss .*, ETA \d+s$")
    self.assertNotIn("ETA", last)

  @parameterized.parameters(1, 6, 11)
  def test_stopped_and_gone_on(self, stop):
    """Weights to the last bit, and the same lines, whenever it was stopped."""
    changes = {"data__validation": 0.3, "optimizer__ema": 0.9}
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(source, **changes)
    plain = Metrics(epath.Path(self.root) / "plain.csv")
    whole = _loop(prepared, metrics=plain).run()

    def stopping(step):
      if step == stop:
        raise _Killed

    workdir = epath.Path(self.root) / "run"
    workdir.mkdir()
    for each in (stopping, lambda step: None):
      prepared = tiny_trainings.prepared(source, **changes)
      kept = Checkpoints(workdir, prepared.config.keep, {})
      metrics = Metrics(workdir / "metrics.csv")
      made = _loop(prepared, metrics=metrics, checkpoints=kept)
      begun = int(made.state.step)
      try:
        state = made.run(each)
      except _Killed:
        pass
      kept.close()
    self.assertEqual(begun, stop // 5 * 5)
    jax.tree.map(np.testing.assert_array_equal, state, whole)
    self.assertEqual(
      _without_seconds(workdir / "metrics.csv"),
      _without_seconds(epath.Path(self.root) / "plain.csv"),
    )

  def test_a_plateau_lowers_the_rate(self):
    source = tiny_trainings.Source(24, validation=10)
    prepared = tiny_trainings.prepared(
      source,
      steps=0,
      epochs=6,
      data__validation=0.3,
      schedule=Schedule(name="plateau", patience=0, factor=0.5).model_dump(
        exclude_unset=True
      ),
      optimizer__learning_rate=20.0,
    )
    metrics = Metrics(None)
    _loop(prepared, metrics=metrics).run()
    rates = [line["learning_rate"] for line in metrics.lines]
    self.assertLess(rates[-1], rates[0])

  def test_parts_of_a_batch_over_devices(self):
    eight = types.SimpleNamespace(size=8)
    words = "got 2 parts of 8 examples.* over 8 devices.* a multiple of 16"
    with (
      mock.patch.object(loop.devices, "mesh", return_value=eight),
      self.assertRaisesRegex(errors.UserError, words),
    ):
      _loop(tiny_trainings.prepared(optimizer__accumulate=2))

  def test_a_batch_larger_than_the_data(self):
    for share, left in (
      (0.0, ""),
      (0.3, " that config.data.validation=0.3 leav"),
    ):
      words = f"got 32, expected at most the 24 training examples{left}"
      with self.assertRaisesRegex(errors.UserError, words):
        _loop(tiny_trainings.prepared(batch_size=32, data__validation=share))
