"""Runs of models that adapt while they are tested: streams, states, refusals."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

import jax
import numpy as np
import pytest
from absl.testing import parameterized
from flax import nnx

from eval.cells.workdir import Workdir
from eval.pipeline import adapting, streams
from models.adaptation import network
from models.adapters.onnx_graph import opened as graph
from robust_tfds import datasets, errors, evaluate, models
from robust_tfds.conditions import Condition
from tests.eval.coverage import adaptation

_SPEC = models.Spec(
  input_px=32, num_classes=10, resize="squash", resize_px=32, weights="here"
)
_RUN = {"conditions": "brightness,contrast", "limit": 40, "severities": 5}
_BATCH = 16


class _Network(nnx.Module):
  """A convolution, a norm and a head."""

  def __init__(self, norm=nnx.BatchNorm):
    rngs = nnx.Rngs(0)
    self.conv = nnx.Conv(3, 8, (5, 5), strides=4, rngs=rngs)
    self.norm = norm(8, rngs=rngs) if norm else (lambda x: x)
    self.head = nnx.Linear(8, 10, rngs=rngs)

  def __call__(self, x):
    x = nnx.relu(self.norm(self.conv(x)))
    return 4 * self.head(x.mean((1, 2)))


def _model(norm=nnx.BatchNorm):
  module = _Network(norm)
  module.eval()
  return models.adapters.get("flax_module")(module, _SPEC, name="net")


def _plain(images):
  return images.reshape(len(images), -1)[:, :10].astype(np.float32)


def _group_norm(features, rngs):
  return nnx.GroupNorm(features, 4, rngs=rngs)


def _cells(folder) -> dict[tuple[str, str], dict[str, np.ndarray]]:
  workdir = Workdir(folder)
  return {
    (c.model, c.condition.config): workdir.columns(c) for c in workdir.cells()
  }


def _bytes(folder) -> dict[str, bytes]:
  root = pathlib.Path(folder)
  paths = [*root.rglob("cells/**/*.npz"), root / "table.csv"]
  return {str(p.relative_to(root)): p.read_bytes() for p in paths}


class AdaptTest(parameterized.TestCase):
  """On 40 of the embedded digits, with a network of one batch norm."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls.folder.cleanup)

  def _evaluate(self, adapt, model=None, dataset="digits_c", **options):
    if isinstance(adapt, dict):
      adapt = {"batch_size": _BATCH, **adapt}
    data_dir = f"{self.folder.name}/data"
    self.output = io.StringIO()
    with contextlib.redirect_stdout(self.output):
      return evaluate(
        model or _model(),
        dataset,
        adapt=adapt,
        **{**_RUN, "data_dir": data_dir, **options},
      )

  def _run(self, adapt, **options):
    """Return the cells of a run, of the model that adapts by condition."""
    self.result = self._evaluate(adapt, **options)
    cells = _cells(self.result.workdir)
    label = next(label for label, _ in cells if label != "net")
    return {c: columns for (m, c), columns in cells.items() if m == label}

  def test_reset_is_the_method_on_shuffled_pictures(self):
    cells = self._run({"method": "bn", "seed": 3})
    builder = datasets.builder(
      "digits_c", "clean", data_dir=f"{self.folder.name}/data"
    )
    source = builder.as_data_source(split="test")
    pixels = {e["example_id"].decode(): e["image"] for e in source}
    columns = cells["clean"]
    ids = columns["example_id"]
    self.assertEqual(len(ids), 40)
    order = np.argsort(columns["position"])
    self.assertEqual(order.tolist(), streams.shuffled(ids.tolist(), 3).tolist())
    model, expected = _model(), []
    for start in (0, 16, 32):  # the last batch has 8
      names = ids[order][start : start + 16]
      images = np.stack([pixels[name] for name in names])
      logits, _ = network.forward(model, model.variables, images)
      expected.append(np.asarray(jax.nn.softmax(logits)).max(1))
    got = columns["score"][order][:, 0]
    np.testing.assert_allclose(got, np.concatenate(expected), atol=1e-6)
    for other in ("brightness_5", "contrast_5"):
      np.testing.assert_array_equal(
        cells[other]["position"], columns["position"]
      )

  def test_the_model_itself_stands_beside(self):
    plain = self._evaluate(None)
    both = self._evaluate({"method": "tent"})
    alone, cells = _cells(plain.workdir), _cells(both.workdir)
    for key, columns in alone.items():
      for name in ("example_id", "top5"):
        np.testing.assert_array_equal(columns[name], cells[key][name])
    self.assertIn(
      "net tent: adapts by tent, setting reset", self.output.getvalue()
    )
    notes = {r.note for r in both.table if r.model == "net tent"}
    self.assertTrue(all("tent, setting reset, batch 16" in n for n in notes))
    self.assertNotIn("adapts", "".join(r.note for r in plain.table))
    numbers = {(r.model, r.metric): r for r in both.table if not r.config}
    adapted, source = (
      numbers[label, "error_at_5"].value for label in ("net tent", "net")
    )
    change = numbers["net tent", "change_at_5"]
    self.assertAlmostEqual(change.value, adapted - source)
    self.assertIn("less net, the same pictures", change.note)
    passes = {r.value for r in both.table if r.metric == "backward_passes"}
    self.assertEqual(passes, {40.0})

  def test_settings(self):
    tent = {
      "method": "tent",
      "hyperparameters": {"optimizer": {"kind": "sgd", "learning_rate": 0.1}},
    }
    reset = self._run(tent)
    episodic = self._run({**tent, "setting": "episodic"})
    continual = self._run({**tent, "setting": "continual"})
    gradual = self._run({**tent, "setting": "gradual"}, severities=(1, 5))
    mixed = self._run({**tent, "setting": "mixed"})
    correlated = self._run({**tent, "setting": "correlated", "delta": 0.01})
    first = reset["clean"]["position"] < _BATCH

    def same(a, b, rows=slice(None)):
      return np.array_equal(a["score"][rows], b["score"][rows])

    for condition, columns in reset.items():
      self.assertTrue(same(columns, episodic[condition], first), condition)
      self.assertFalse(same(columns, episodic[condition]), condition)
    # The stream begins with brightness, and clean pictures stand aside.
    self.assertTrue(same(reset["clean"], continual["clean"]))
    self.assertTrue(same(reset["brightness_5"], continual["brightness_5"]))
    self.assertFalse(same(reset["contrast_5"], continual["contrast_5"]))
    self.assertEqual(len(gradual), 11)  # all severities, whatever was asked
    self.assertTrue(
      same(
        self._run(tent, severities=1)["brightness_1"], gradual["brightness_1"]
      )
    )
    places = np.concatenate(
      [mixed[c]["position"] for c in ("brightness_5", "contrast_5")]
    )
    self.assertEqual(sorted(places.tolist()), list(range(80)))
    self.assertGreater(mixed["brightness_5"]["position"].max(), 60)

    def changes(columns):
      order = np.argsort(columns["position"])
      return np.count_nonzero(np.diff(columns["label"][order]))

    self.assertLess(changes(correlated["clean"]), changes(reset["clean"]) / 2)

  def test_clean_pictures_are_a_stream_of_their_own(self):
    given = {"method": "eta", "hyperparameters": {"e_margin": 9.0}}
    for condition in ("clean", "contrast_5"):  # both begin with the source
      scores = [
        self._run({**given, "setting": setting}, conditions="contrast")[
          condition
        ]
        for setting in ("reset", "continual")
      ]
      np.testing.assert_array_equal(*(each["score"] for each in scores))
      np.testing.assert_array_equal(*(each["backward"] for each in scores))

  @pytest.mark.slow
  def test_a_new_object_forgets_earlier_conditions(self):
    sgd = {"kind": "sgd", "learning_rate": 0.1}
    given = {"e_margin": 9.0, "d_margin": 0.95, "optimizer": sgd}
    eata = {"method": "eata", "clean": "test", "hyperparameters": given}
    eata["clean_examples"] = 20
    for reset, forgets in (("new", True), ("method", False)):
      adapt = {**eata, "reset": reset}
      scores = [
        self._run(adapt, conditions=names)["contrast_5"]["score"]
        for names in ("contrast", "brightness,contrast")
      ]
      self.assertEqual(np.array_equal(*scores), forgets, reset)

  @pytest.mark.slow
  def test_no_picture_is_reliable(self):
    bn = self._run({"method": "bn"})
    eta = self._run({"method": "eta", "hyperparameters": {"e_margin": 0.0}})
    for condition, columns in bn.items():
      self.assertEqual(eta[condition]["backward"].sum(), 0)
      np.testing.assert_allclose(
        columns["score"], eta[condition]["score"], atol=1e-6
      )

  def test_orders(self):
    listed = [Condition(n, 5) for n in ("fog", "contrast", "brightness")]
    names = lambda order: [
      c.name for c in streams.Stream("continual", order).domains(listed)
    ]
    self.assertEqual(names(None), ["fog", "brightness", "contrast"])
    self.assertEqual(names(0), ["brightness", "fog", "contrast"])
    self.assertEqual(len({frozenset(order) for order in streams.ORDERS}), 1)
    self.assertEqual(len(set(streams.ORDERS)), 10)
    gradual = streams.Stream("gradual").domains(
      [Condition("fog", s) for s in (1, 2, 3, 4, 5)]
    )
    self.assertEqual([c.level for c in gradual], [1, 2, 3, 4, 5, 4, 3, 2, 1])

  def test_last_batch_and_seeds(self):
    self._run({"method": "bn", "last_batch": "drop", "seeds": 2})
    cells = _cells(self.result.workdir)
    self.assertEqual(
      {label for label, _ in cells}, {"net", "net bn, seed 0", "net bn, seed 1"}
    )
    ids = {tuple(columns["example_id"]) for columns in cells.values()}
    self.assertEqual([len(each) for each in ids], [32])  # the same pictures
    first, second = (
      cells[f"net bn, seed {seed}", "clean"]["position"] for seed in (0, 1)
    )
    self.assertFalse(np.array_equal(first, second))
    rows = {(r.model, r.metric): r for r in self.result.table if not r.config}
    mean = rows["net bn, seed 0", "seeds_error_at_5"]
    values = [rows[f"net bn, seed {s}", "error_at_5"].value for s in (0, 1)]
    self.assertAlmostEqual(mean.value, np.mean(values))
    self.assertIn("t interval over seeds", mean.note)

  @parameterized.parameters(
    ("tent", "reset", 5),
    ("eta", "reset", 7),
    ("eta", "continual", 8),
    ("tent", "gradual", 9),
    ("bn_ema", "mixed", 4),
  )
  def test_a_kill_changes_nothing(self, method, setting, calls):
    adapt = {"method": method, "setting": setting}
    options = {"conditions": "brightness,contrast", "severities": 5}
    whole, killed = (self.create_tempdir().full_path for _ in range(2))
    self._evaluate(adapt, workdir=whole, **options)
    with self.assertRaises(KeyboardInterrupt):
      self._calls(adapt, calls, workdir=killed, **options)
    self._evaluate(adapt, workdir=killed, **options)
    self.assertEqual(_bytes(whole), _bytes(killed))
    self.assertFalse((pathlib.Path(killed) / "streams").exists())

  @pytest.mark.slow
  def test_a_kill_loses_one_block_of_many(self):
    options = {"limit": 0, "conditions": "contrast"}
    # Blocks of 16 batches: 256 and 104 pictures.
    adapt = {"method": "tent"}
    whole, killed = (self.create_tempdir().full_path for _ in range(2))
    calls = self._calls(adapt, workdir=whole, **options)
    with self.assertRaises(KeyboardInterrupt):
      self._calls(adapt, calls - 1, workdir=killed, **options)
    again = self._calls(adapt, workdir=killed, **options)
    self.assertLess(again, calls / 2)
    self.assertEqual(_bytes(whole), _bytes(killed))

  def _calls(self, adapt, most=10**9, **options):
    """Run and return how many batches were shown; stop after `most`."""
    call, count = adapting.AdaptingPredictor.__call__, [0]

    def counted(*args, **kwargs):
      if count[0] == most:
        raise KeyboardInterrupt
      count[0] += 1
      return call(*args, **kwargs)

    with mock.patch.object(adapting.AdaptingPredictor, "__call__", counted):
      self._evaluate(adapt, **options)
    return count[0]

  @parameterized.parameters(("bn_alpha", nnx.BatchNorm), ("tent", _group_norm))
  def test_one_picture_at_a_time(self, method, norm):
    cells = self._run(
      {"method": method, "batch_size": 1}, model=_model(norm), limit=3
    )
    self.assertEqual(sorted(cells["clean"]["position"].tolist()), [0, 1, 2])

  def test_blocks_change_nothing(self):
    one, other = (
      self._run({"method": "tent"}, block_mib=mib) for mib in (1, 512)
    )
    for condition in one:
      np.testing.assert_array_equal(
        one[condition]["score"], other[condition]["score"]
      )

  @pytest.mark.slow
  def test_devices_change_the_last_bit_alone(self):
    scores = [self._on_devices(count) for count in (1, 2, 8)]
    for other in scores[1:]:
      np.testing.assert_allclose(other, scores[0], atol=1e-5)

  def _on_devices(self, count):
    out = self.create_tempdir().full_path + "/scores.json"
    environment = {
      **os.environ,
      "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}",
      "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, "-m", __name__, out, f"{self.folder.name}/data"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return np.array(json.loads(pathlib.Path(out).read_text()))

  @parameterized.parameters(
    (
      {"method": "tent", "order": 3},
      None,
      "order: got 3, .*setting reset has no",
    ),
    ({"method": "tent", "delta": 0.3}, None, "delta: got 0.3, .*Leave it out"),
    ({"method": "tnt"}, None, "adaptation method 'tnt'.*tent"),
    ({"setting": "continual"}, None, "adapt.method: missing"),
    ({"method": "tent", "setting": "reste"}, None, "adapt.setting"),
    ({"method": "tent", "order": 10}, None, "adapt.order: got 10"),
    ({"method": "tent", "hyperparameters": {"step": 2}}, None, "'step'.*steps"),
    ({"method": "tent", "hyperparameters": {"steps": 0}}, None, "steps is 0"),
    (
      {"method": "sar", "hyperparameters": {"rho": -0.1}},
      None,
      "rho is -0.1, expected a number from 0",
    ),
    (
      {"method": "tent", "hyperparameters": {"optimizer": "adam"}},
      None,
      "optimizer is 'adam', expected a dict",
    ),
    (
      {"method": "tent", "hyperparameters": {"optimizer": {"lr": 1}}},
      None,
      "key of the optimizer 'lr'.*learning_rate",
    ),
    (
      {"method": "tent", "batch_size": 64, "last_batch": "drop"},
      None,
      "leaves none of 40 pictures.*smaller adapt.batch_size",
    ),
    ({"method": "eata"}, None, "adapt.clean to DATASET:SPLIT"),
    (
      {"method": "eata", "clean": "digits_c:test"},
      None,
      "of the test pictures",
    ),
    ({"method": "bn", "batch_size": 1}, None, "batch_size 1"),
    ({"method": "tent", "batch_size": 1}, None, "batch_size 1.*GroupNorm"),
    (
      {"method": "tent", "batch_size": 39},
      None,
      r"a last batch of 1 \(40 pictures in batches of 39\).*last_batch='drop'",
    ),
    (
      {"method": "bn", "batch_size": 79, "setting": "mixed"},
      None,
      r"a last batch of 1 \(80 pictures",
    ),
    ({"method": "bn"}, _group_norm, "no batch norms"),
    ({"method": "tent"}, "", "no norm layers"),
    ({"method": "tent"}, _plain, "on the host"),
    ({"method": "tent"}, "mine.csv", "the file 'mine.csv', expected a network"),
  )
  def test_refusals(self, adapt, model, expected):
    if model == "mine.csv":
      pass
    elif not callable(model) or model is _group_norm:
      model = _model(nnx.BatchNorm if model is None else model or None)
    with self.assertRaisesRegex(errors.UserError, f"(?s){expected}"):
      self._evaluate(adapt, model)

  def test_weights_that_are_no_numbers_stop_the_run(self):
    far = {"optimizer": {"kind": "sgd", "learning_rate": 1e38}}
    adapt = {"method": "tent", "setting": "continual", "hyperparameters": far}
    with self.assertRaisesRegex(
      errors.UserError, r"net tent: after batch \d of \w+ .*NaN or infinite"
    ):
      self._evaluate(adapt)

  def test_cells_before_such_weights_are_kept(self):
    call, count = adapting.AdaptingPredictor.__call__, [0]

    def broken(*args, **kwargs):
      outputs = call(*args, **kwargs)
      count[0] += 1
      if count[0] == 5:  # a condition has three batches
        outputs._arrays["finite"] = np.zeros(_BATCH, bool)
      return outputs

    workdir = self.create_tempdir().full_path
    adapt = {"method": "tent", "setting": "continual"}
    with mock.patch.object(adapting.AdaptingPredictor, "__call__", broken):
      with self.assertRaisesRegex(
        errors.UserError, "after batch 2 of brightness_5"
      ):
        self._evaluate(adapt, workdir=workdir)
    self.assertIn(("net tent", "clean"), _cells(workdir))

  def test_the_norms_of_a_torch_module(self):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
      torch.nn.Conv2d(3, 8, 5, stride=4),
      torch.nn.BatchNorm2d(8),
      torch.nn.ReLU(),
      torch.nn.AdaptiveAvgPool2d(1),
      torch.nn.Flatten(),
      torch.nn.LayerNorm(8),
      torch.nn.Linear(8, 10),
    )
    model = models.adapters.get("torch")(net.eval(), _SPEC, route="traced")
    opened, variables = graph.Opened.from_model(model)
    shape = (_BATCH, 32, 32, 3)
    images = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    tent = models.adaptation.get("tent")(opened)
    state = tent.init(variables)
    self.assertLen(state["weights"], 4)
    logits, _ = tent.step(state, images, jax.random.key(0))
    pixels = np.moveaxis(np.asarray(opened.pixels(images)), -1, 1)
    with torch.no_grad():
      expected = net.train()(torch.from_numpy(pixels.copy()))
    np.testing.assert_allclose(logits, expected, atol=1e-5)

  def test_naive_intervals_are_too_short(self):
    gentle, _ = adaptation.coverage(100, 0.0)
    naive, over_seeds = adaptation.coverage(100, 1.0)
    self.assertGreater(gentle, 0.87)
    self.assertLess(naive, 0.82)
    self.assertGreater(over_seeds, naive)

  def test_another_method_in_a_workdir(self):
    workdir = self.create_tempdir().full_path
    self._evaluate({"method": "bn"}, workdir=workdir)
    with self.assertRaisesRegex(
      errors.UserError, "another config.*adapt.method"
    ):
      self._evaluate({"method": "tent"}, workdir=workdir)

  def test_clean_twins_are_marked(self):
    self._run({"method": "eata", "clean": "test", "clean_examples": 20})
    notes = {r.note for r in self.result.table if r.model == "net eata"}
    self.assertTrue(all("further pictures 20 of test" in n for n in notes))


def _write_scores(out, data_dir):
  """Write the scores of a run on as many devices as there are."""
  adapt = {"method": "tent", "batch_size": _BATCH}
  result = evaluate(
    _model(), "digits_c", adapt=adapt, data_dir=data_dir, **_RUN
  )
  cells = _cells(result.workdir)
  scores = [c["score"].tolist() for _, c in sorted(cells.items())]
  pathlib.Path(out).write_text(json.dumps(scores))


if __name__ == "__main__":
  _write_scores(*sys.argv[1:])
