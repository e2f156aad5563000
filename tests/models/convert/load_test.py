"""Converters: every format, every array once, and every refusal in words."""

import json
import pathlib
import pickle
import struct
import tempfile
import warnings

import jax
import numpy as np
import pytest
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import models
from robust_tfds.models import variables as variables_lib
from robust_tfds.models.convert import __main__ as command
from robust_tfds.models.convert import match
from robust_tfds.models.convert import report

_LEAF = {
  "kernel": "weight",
  "scale": "weight",
  "mean": "running_mean",
  "var": "running_var",
}


def _random(name: str, seed: int = 0) -> dict:
  """Random variables, all different, in our layout."""
  rng = np.random.default_rng(seed)
  shapes = models.get(name).shapes()
  return {p: rng.standard_normal(s, np.float32) for p, s in shapes.items()}


def _as_torch(flat: dict) -> dict[str, np.ndarray]:
  """Our variables as a torch state dict would name and lay them out."""
  out = {}
  for path, array in flat.items():
    if path[-1] == "kernel":
      array = array.transpose((3, 2, 0, 1) if array.ndim == 4 else (1, 0))
    name = ".".join([*path[:-1], _LEAF.get(path[-1], path[-1])])
    out[name] = np.ascontiguousarray(array)
  return out


class LoadTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = pathlib.Path(self.create_tempdir().full_path)

  def _npz(self, arrays, name="weights.npz"):
    path = self.folder / name
    np.savez(path, **arrays)
    return path

  def _same(self, variables, flat):
    got = variables_lib.flatten(variables)
    self.assertEqual(set(got), set(flat))
    for path, want in flat.items():
      self.assertEqual(got[path].dtype, np.float32)
      np.testing.assert_array_equal(got[path], want, err_msg=str(path))


class FormatTest(LoadTest):
  def test_npz_with_our_paths(self):
    flat = _random("resnet18")
    path = self._npz({"/".join(p): a for p, a in flat.items()})
    self._same(models.convert.load("resnet18", path), flat)
    self._same(models.convert.load("resnet18", str(path)), flat)

  def test_npz_with_torch_names(self):
    flat = _random("resnet18")
    arrays = _as_torch(flat)
    arrays["bn1.num_batches_tracked"] = np.int64(7)
    loaded = match.load("resnet18", self._npz(arrays))
    self._same(loaded.variables, flat)
    self.assertEqual(loaded.style, "torch")
    self.assertEqual(loaded.ignored, ("bn1.num_batches_tracked",))
    self.assertLen(loaded.sources, len(flat))

  def test_npz_in_caffe_layout(self):
    flat = _random("squeezenet1_1")
    arrays = {k.replace(".", "/"): a for k, a in _as_torch(flat).items()}
    arrays = {"/".join(k.rsplit("/", 1)): a for k, a in arrays.items()}
    loaded = match.load("squeezenet1_1", self._npz(arrays))
    self.assertEqual(loaded.style, "caffe")
    self._same(loaded.variables, flat)

  def test_safetensors(self):
    from safetensors import numpy as safetensors

    flat = _random("resnet18")
    path = self.folder / "weights.safetensors"
    safetensors.save_file(_as_torch(flat), path)
    self._same(models.convert.load("resnet18", path), flat)

  def test_safetensors_of_half_precision(self):
    import jax.numpy as jnp
    from safetensors import flax as safetensors

    flat = _random("digits_linear")
    path = self.folder / "weights.safetensors"
    for dtype in (jnp.bfloat16, jnp.float16):
      arrays = _as_torch(flat)
      arrays = {n: jnp.asarray(a, dtype) for n, a in arrays.items()}
      safetensors.save_file(arrays, path)
      rounded = {
        p: np.asarray(jnp.asarray(a, dtype), np.float32)
        for p, a in flat.items()
      }
      self._same(models.convert.load("digits_linear", path), rounded)

  def test_orbax(self):
    import orbax.checkpoint as ocp

    flat = _random("digits_cnn")
    path = self.folder / "checkpoint"
    with ocp.StandardCheckpointer() as checkpointer:
      checkpointer.save(path, variables_lib.nest(flat))
    self._same(models.convert.load("digits_cnn", path), flat)

  @parameterized.parameters("plain", "wrapped")
  def test_torch(self, kind):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    flat = _random("resnet18")
    state = {n: torch.from_numpy(a) for n, a in _as_torch(flat).items()}
    path = self.folder / "weights.pth"
    wrapped = {"state_dict": {f"module.{n}": t for n, t in state.items()}}
    torch.save(state if kind == "plain" else {**wrapped, "epoch": 3}, path)
    self._same(models.convert.load("resnet18", path), flat)

  def test_caffemodel(self):
    flat = _random("squeezenet1_1")
    path = self.folder / "net.caffemodel"
    for old in (False, True):
      path.write_bytes(_caffemodel(_as_torch(flat), old))
      self._same(models.convert.load("squeezenet1_1", path), flat)

  def test_another_class_count(self):
    flat = _random("digits_linear")
    flat["head", "kernel"] = np.ones((3072, 4), np.float32)
    flat["head", "bias"] = np.ones(4, np.float32)
    path = self._npz({"/".join(p): a for p, a in flat.items()})
    got = models.convert.load("digits_linear", path, num_classes=4)
    self._same(got, flat)
    with self.assertRaisesRegex(ValueError, "has 4 classes.*has 10.*num_clas"):
      models.convert.load("digits_linear", path)


class StyleTest(LoadTest):
  def test_old_densenet_names(self):
    flat = _random("densenet121")
    arrays = {}
    for name, array in _as_torch(flat).items():
      if "denselayer" in name:
        name = name.replace("norm1", "norm.1").replace("norm2", "norm.2")
        name = name.replace("conv1", "conv.1").replace("conv2", "conv.2")
      arrays[name] = array
    loaded = match.load("densenet121", self._npz(arrays))
    self.assertEqual(loaded.style, "torchvision")
    self._same(loaded.variables, flat)

  def test_warns_when_pictures_would_be_prepared_otherwise(self):
    flat = _random("squeezenet1_1_torchvision")
    arrays = {}
    places = {2: 3, 3: 4, 4: 6, 5: 7, 6: 9, 7: 10, 8: 11, 9: 12}
    for name, array in _as_torch(flat).items():
      name = name.replace("conv10.", "classifier.1.")
      name = name.replace("conv1.", "features.0.")
      name = name.replace("squeeze1x1", "squeeze")
      for fire, place in places.items():
        name = name.replace(f"fire{fire}.", f"features.{place}.")
      arrays[name] = array
    path = self._npz(arrays)
    with self.assertWarnsRegex(
      UserWarning, "Load it into squeezenet1_1_torchvision"
    ):
      self._same(models.convert.load("squeezenet1_1", path), flat)
    with warnings.catch_warnings():
      warnings.simplefilter("error")
      self._same(models.convert.load("squeezenet1_1_torchvision", path), flat)


class RefusalTest(LoadTest):
  def test_nothing_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "No checkpoint at /"):
      models.convert.load("resnet18", self.folder / "none.npz")

  def test_unknown_name_and_format(self):
    path = self.folder / "weights.h5"
    path.write_bytes(b"x")
    with self.assertRaisesRegex(ValueError, "expected one of .npz"):
      models.convert.load("resnet18", path)
    with self.assertRaisesRegex(ValueError, "Did you mean 'resnet18'"):
      models.convert.load("resnet_18", path)

  def test_another_depth_names_the_first_difference(self):
    path = self._npz(_as_torch(_random("resnet18")))
    with self.assertRaisesRegex(
      ValueError,
      r"another architecture than resnet50: the first array that differs is"
      r" layer1\.0\.conv1\.weight, got \(64, 64, 3, 3\), expected"
      r" \(64, 64, 1, 1\)",
    ):
      models.convert.load("resnet50", path)

  def test_another_family_names_both_arrays(self):
    path = self._npz(_as_torch(_random("squeezenet1_1")))
    with self.assertRaisesRegex(
      ValueError, r"another architecture than densenet121.*\(64, 3, 7, 7\)"
    ):
      models.convert.load("densenet121", path)

  def test_leftovers_and_gaps_are_named(self):
    arrays = _as_torch(_random("digits_cnn"))
    with self.assertRaisesRegex(
      ValueError, r"1 arrays are left over: tail\.bias \(3,\)"
    ):
      extra = {**arrays, "tail.bias": np.zeros(3)}
      models.convert.load("digits_cnn", self._npz(extra))
    del arrays["head.bias"]
    with self.assertRaisesRegex(
      ValueError, "1 arrays are not in the file: head.bias"
    ):
      models.convert.load("digits_cnn", self._npz(arrays))

  def test_an_array_twice(self):
    arrays = _as_torch(_random("digits_cnn"))
    arrays["module.head.bias"] = arrays["head.bias"]
    with self.assertRaisesRegex(ValueError, "both are head/bias"):
      models.convert.load("digits_cnn", self._npz(arrays))

  @parameterized.parameters(np.nan, np.inf)
  def test_values_that_are_no_numbers(self, value):
    arrays = _as_torch(_random("digits_cnn"))
    arrays["conv2.weight"][0, 0, 0, 0] = value
    with self.assertRaisesRegex(
      ValueError, "conv2.weight has 1 values that are NaN or infinite"
    ):
      models.convert.load("digits_cnn", self._npz(arrays))

  def test_truncated(self):
    from safetensors import numpy as safetensors

    arrays = _as_torch(_random("digits_cnn"))
    paths = [self._npz(arrays), self.folder / "weights.safetensors"]
    safetensors.save_file(arrays, paths[1])
    paths.append(self.folder / "net.caffemodel")
    paths[2].write_bytes(_caffemodel(arrays, False))
    for path in paths:
      for kept in (0.6, 0.0):
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * kept)])
        with self.subTest(f"{path.name} {kept}"):
          with self.assertRaisesRegex(ValueError, "truncated"):
            models.convert.load("digits_cnn", path)

  def test_truncated_torch(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    path = self.folder / "weights.pth"
    torch.save({"a": torch.zeros(1000)}, path)
    path.write_bytes(path.read_bytes()[:700])
    with self.assertRaisesRegex(ValueError, "truncated"):
      models.convert.load("digits_cnn", path)

  def test_pickle_with_code_in_an_npz(self):
    target = self.folder / "ran"
    arrays = _as_torch(_random("digits_cnn"))
    arrays["head.bias"] = np.array([_Bomb(str(target))], object)
    path = self.folder / "weights.npz"
    np.savez(path, allow_pickle=True, **arrays)
    with self.assertRaisesRegex(ValueError, "allow_pickle=False|Object arrays"):
      models.convert.load("digits_cnn", path)
    self.assertFalse(target.exists())

  def test_pickle_with_code_in_a_pth(self):
    pytest.importorskip("torch", reason="the extra `convert`")
    target = self.folder / "ran"
    path = self.folder / "weights.pth"
    path.write_bytes(pickle.dumps({"a": _Bomb(str(target))}, protocol=2))
    with self.assertRaisesRegex(ValueError, "was refused: a pickle can run"):
      models.convert.load("digits_cnn", path)
    self.assertFalse(target.exists())

  def test_torch_missing_is_said(self):
    path = self.folder / "weights.pth"
    path.write_bytes(b"x")
    import sys
    from unittest import mock

    with mock.patch.dict(sys.modules, {"torch": None}):
      with self.assertRaisesRegex(ImportError, r"robust_tfds\[convert\]"):
        models.convert.load("digits_cnn", path)


class CommandTest(LoadTest):
  def test_writes_npz_digest_and_report(self):
    flat = _random("digits_cnn")
    source = self._npz(_as_torch(flat), "in.npz")
    out = self.folder / "out" / "digits.npz"
    self.assertEqual(command.main(["digits_cnn", str(source), str(out)]), 0)
    self._same(models.convert.load("digits_cnn", out), flat)
    digest = out.with_name("digits.npz.sha256").read_text("utf-8").split()[0]
    facts = json.loads(
      out.with_name("digits.npz.report.json").read_text("utf-8")
    )
    self.assertEqual(facts["npz_sha256"], digest)
    self.assertEqual(facts["parameters"], 33_834)
    self.assertLen(facts["sources"], len(flat))
    again = report.write_npz(
      variables_lib.nest(flat), self.folder / "again.npz"
    )
    self.assertEqual(again, digest)

  def test_detectors_and_video_networks_too(self):
    for name in ("tiny_retinanet", "tiny_r3d"):
      variables = variables_lib.nest(_random(name))
      source, out = self.folder / f"{name}.npz", self.folder / f"{name}2.npz"
      first = report.write_npz(variables, source)
      self.assertEqual(command.main([name, str(source), str(out)]), 0)
      told = json.loads(out.with_name(f"{name}2.npz.report.json").read_text())
      self.assertEqual(told["npz_sha256"], first)
      self.assertIn("not measured", told["parity"])

  def test_bad_input_is_one_line_and_a_status(self):
    with tempfile.TemporaryDirectory() as folder:
      missing = f"{folder}/none.npz"
      self.assertEqual(
        command.main(["digits_cnn", missing, f"{folder}/out.npz"]), 1
      )
      self.assertEqual(list(pathlib.Path(folder).iterdir()), [])

  def test_converted_runs(self):
    model = models.get("digits_cnn")
    path = self._npz(_as_torch(_random("digits_cnn")))
    variables = models.convert.load("digits_cnn", path)
    logits = jax.jit(model.apply)(variables, np.zeros((3, 32, 32, 3), np.uint8))
    self.assertTrue(np.isfinite(logits).all())


class _Bomb:
  """Writes a file when it is unpickled."""

  def __init__(self, target: str):
    self.target = target

  def __reduce__(self):
    return (open, (self.target, "w"))


def _varint(value: int) -> bytes:
  out = b""
  while value > 0x7F:
    out += bytes([value & 0x7F | 0x80])
    value >>= 7
  return out + bytes([value])


def _field(number: int, payload: bytes) -> bytes:
  return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _caffemodel(arrays: dict[str, np.ndarray], old: bool) -> bytes:
  """A NetParameter as Caffe writes it; `old` is the V1 layout."""
  layers: dict[str, list[np.ndarray]] = {}
  for name, array in arrays.items():
    layers.setdefault(name.rpartition(".")[0], []).append(array)
  out = _field(1, b"net")
  for name, blobs in layers.items():
    # Weights come before biases.
    blobs = sorted(blobs, key=lambda a: -a.ndim)
    layer = _field(4 if old else 1, name.replace(".", "/").encode())
    for blob in blobs:
      data = _field(5, struct.pack(f"<{blob.size}f", *blob.ravel()))
      if old:
        shape = (1,) * (4 - blob.ndim) + blob.shape
        head = b"".join(
          _varint(i << 3) + _varint(n) for i, n in enumerate(shape, 1)
        )
      else:
        head = _field(7, _field(1, b"".join(map(_varint, blob.shape))))
      layer += _field(6 if old else 7, head + data)
    out += _field(2 if old else 100, layer)
  return out


if __name__ == "__main__":
  absltest.main()
