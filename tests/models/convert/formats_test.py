"""Every format of checkpoints, and files that are refused unread."""

import pickle

import numpy as np
import pytest
from absl.testing import absltest
from absl.testing import parameterized

from robust_tfds import models
from robust_tfds.models import variables as variables_lib
from robust_tfds.models.convert import match
from tests.models.convert import checkpoints


class FormatTest(checkpoints.Case):
  def test_npz_with_our_paths(self):
    flat = checkpoints.drawn("resnet18")
    path = self.npz({"/".join(p): a for p, a in flat.items()})
    self.same(models.convert.load("resnet18", path), flat)
    self.same(models.convert.load("resnet18", str(path)), flat)

  def test_npz_with_torch_names(self):
    flat = checkpoints.drawn("resnet18")
    arrays = checkpoints.as_torch(flat)
    arrays["bn1.num_batches_tracked"] = np.int64(7)
    loaded = match.load("resnet18", self.npz(arrays))
    self.same(loaded.variables, flat)
    self.assertEqual(loaded.style, "torch")
    self.assertEqual(loaded.ignored, ("bn1.num_batches_tracked",))
    self.assertLen(loaded.sources, len(flat))

  def test_npz_in_caffe_layout(self):
    flat = checkpoints.drawn("squeezenet1_1")
    arrays = {
      k.replace(".", "/"): a for k, a in checkpoints.as_torch(flat).items()
    }
    arrays = {"/".join(k.rsplit("/", 1)): a for k, a in arrays.items()}
    loaded = match.load("squeezenet1_1", self.npz(arrays))
    self.assertEqual(loaded.style, "caffe")
    self.same(loaded.variables, flat)

  def test_safetensors(self):
    from safetensors import numpy as safetensors

    flat = checkpoints.drawn("resnet18")
    path = self.folder / "weights.safetensors"
    safetensors.save_file(checkpoints.as_torch(flat), path)
    self.same(models.convert.load("resnet18", path), flat)

  def test_safetensors_of_half_precision(self):
    import jax.numpy as jnp
    from safetensors import flax as safetensors

    flat = checkpoints.drawn("digits_linear")
    path = self.folder / "weights.safetensors"
    for dtype in (jnp.bfloat16, jnp.float16):
      arrays = checkpoints.as_torch(flat)
      arrays = {n: jnp.asarray(a, dtype) for n, a in arrays.items()}
      safetensors.save_file(arrays, path)
      rounded = {
        p: np.asarray(jnp.asarray(a, dtype), np.float32)
        for p, a in flat.items()
      }
      self.same(models.convert.load("digits_linear", path), rounded)

  def test_orbax(self):
    import orbax.checkpoint as ocp

    flat = checkpoints.drawn("digits_cnn")
    path = self.folder / "checkpoint"
    with ocp.StandardCheckpointer() as checkpointer:
      checkpointer.save(path, variables_lib.nest(flat))
    self.same(models.convert.load("digits_cnn", path), flat)

  @parameterized.parameters("plain", "wrapped")
  def test_torch(self, kind):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    flat = checkpoints.drawn("resnet18")
    state = {
      n: torch.from_numpy(a) for n, a in checkpoints.as_torch(flat).items()
    }
    path = self.folder / "weights.pth"
    wrapped = {"state_dict": {f"module.{n}": t for n, t in state.items()}}
    torch.save(state if kind == "plain" else {**wrapped, "epoch": 3}, path)
    self.same(models.convert.load("resnet18", path), flat)

  def test_caffemodel(self):
    flat = checkpoints.drawn("squeezenet1_1")
    path = self.folder / "net.caffemodel"
    for old in (False, True):
      path.write_bytes(checkpoints.caffemodel(checkpoints.as_torch(flat), old))
      self.same(models.convert.load("squeezenet1_1", path), flat)


class RefusalTest(checkpoints.Case):
  def test_nothing_there(self):
    with self.assertRaisesRegex(FileNotFoundError, "No checkpoint at /"):
      models.convert.load("resnet18", self.folder / "none.npz")

  def test_truncated(self):
    from safetensors import numpy as safetensors

    arrays = checkpoints.as_torch(checkpoints.drawn("digits_cnn"))
    paths = [self.npz(arrays), self.folder / "weights.safetensors"]
    safetensors.save_file(arrays, paths[1])
    paths.append(self.folder / "net.caffemodel")
    paths[2].write_bytes(checkpoints.caffemodel(arrays, False))
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
    arrays = checkpoints.as_torch(checkpoints.drawn("digits_cnn"))
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


class _Bomb:
  """Writes a file when it is unpickled."""

  def __init__(self, target: str):
    self.target = target

  def __reduce__(self):
    return (open, (self.target, "w"))


if __name__ == "__main__":
  absltest.main()
