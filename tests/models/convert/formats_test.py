"""Every format of checkpoints, and files that are refused unread."""

import json
import os
import pathlib
import pickle
import shutil
import struct
import sys
from unittest import mock

import numpy as np
import pytest
from absl.testing import parameterized
from etils import epath

from models import variables as variables_lib
from models.convert import formats, match
from robust_tfds import errors, models
from tests import fake_bucket
from tests.models.convert import checkpoints


class BucketTest(checkpoints.Case):
  @parameterized.parameters(
    "npz", "safetensors", "caffemodel", "orbax", "torch"
  )
  def test_every_format_is_read_from_a_path_and_a_bucket(self, kind):
    flat = checkpoints.drawn("digits_linear")
    local = self._written(kind, flat)
    there = fake_bucket.upload(
      local, fake_bucket.create(self) / "checkpoints" / local.name
    )
    expected = formats.read(local)
    if kind != "caffemodel":  # its layout is of Caffe's networks alone
      self.same(models.convert.load("digits_linear", local), flat)
    for path in (there, str(there)):
      got = formats.read(path)
      self.assertEqual(list(got), list(expected))
      for name, array in expected.items():
        np.testing.assert_array_equal(got[name], array)

  def _written(self, kind, flat) -> pathlib.Path:
    path = self.folder / f"weights.{kind}"
    if kind == "npz":
      return self.npz(checkpoints.as_torch(flat))
    if kind == "caffemodel":
      arrays = checkpoints.as_torch(flat)
      path.write_bytes(checkpoints.caffemodel(arrays, old=False))
    elif kind == "safetensors":
      from safetensors import numpy as safetensors

      safetensors.save_file(checkpoints.as_torch(flat), path)
    elif kind == "orbax":
      import orbax.checkpoint as ocp

      with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, variables_lib.nest(flat))
    else:
      torch = pytest.importorskip("torch", reason="the extra `convert`")
      path = path.with_suffix(".pth")
      arrays = checkpoints.as_torch(flat)
      torch.save({k: torch.from_numpy(a) for k, a in arrays.items()}, path)
    return path

  def test_refusals_name_the_bucket(self):
    bucket = fake_bucket.create(self)
    with self.assertRaisesRegex(FileNotFoundError, f"{bucket}/a.npz"):
      formats.read(bucket / "a.npz")
    (bucket / "a.npz").write_bytes(b"no archive")
    with self.assertRaisesRegex(errors.UserError, f"^{bucket}/a.npz: not a"):
      formats.read(bucket / "a.npz")
    with self.assertRaisesRegex(errors.UserError, "nothing here opens x://"):
      formats.read("x://b/a.npz")


class FormatTest(checkpoints.Case):
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

  def test_torch_in_a_wrapper(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    flat = checkpoints.drawn("digits_linear")
    state = {
      f"module.{n}": torch.from_numpy(a)
      for n, a in checkpoints.as_torch(flat).items()
    }
    path = self.folder / "weights.pth"
    torch.save({"state_dict": state, "epoch": 3}, path)
    self.same(models.convert.load("digits_linear", path), flat)

  def test_caffemodel(self):
    flat = checkpoints.drawn("squeezenet1_1")
    path = self.folder / "net.caffemodel"
    for old in (False, True):
      path.write_bytes(checkpoints.caffemodel(checkpoints.as_torch(flat), old))
      self.same(models.convert.load("squeezenet1_1", path), flat)


class RefusalTest(checkpoints.Case):
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
    with self.assertRaisesRegex(ValueError, "'head.bias': Python objects"):
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

  def test_torch_says_not_how_to_run_code(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    path = self.folder / "weights.pth"
    torch.save(torch.nn.Linear(2, 2), path)
    with self.assertRaisesRegex(errors.UserError, "here torch.nn") as caught:
      models.convert.load("digits_cnn", path)
    self.assertNotIn("weights_only", str(caught.exception))

  @parameterized.parameters(
    ("sparse", "tensor of torch.sparse_coo, expected"),
    ("meta", "tensor of no data"),
    ("number", "the key 3 is a int"),
    ("text", "its pickle is broken|truncated"),
  )
  def test_odd_tensors(self, what, words):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    path = self.folder / "weights.pth"
    name, tensor = "conv1.weight", torch.ones(2, 3)
    torch.save(
      {
        "sparse": {name: tensor.to_sparse()},
        "meta": {name: tensor.to("meta")},
        "number": {3: tensor},
        "text": {},
      }[what],
      path,
    )
    if what == "text":
      path.write_bytes(b"hello world")
    with self.assertRaisesRegex(errors.UserError, f"weights.pth.*({words})"):
      models.convert.load("digits_cnn", path)

  def test_torch_parameters_with_a_gradient(self):
    torch = pytest.importorskip("torch", reason="the extra `convert`")
    flat = checkpoints.drawn("digits_cnn")
    state = checkpoints.as_torch(flat)
    path = self.folder / "weights.pth"
    torch.save(
      {n: torch.nn.Parameter(torch.from_numpy(a)) for n, a in state.items()},
      path,
    )
    self.same(models.convert.load("digits_cnn", path), flat)

  def test_torch_missing_is_said(self):
    path = self.folder / "weights.pth"
    path.write_bytes(b"x")
    with mock.patch.dict(sys.modules, {"torch": None}):
      with self.assertRaisesRegex(ImportError, r"robust_tfds\[convert\]"):
        models.convert.load("digits_cnn", path)


class DamageTest(checkpoints.Case):
  """Each refusal begins with the path, and names the array where it can."""

  def setUp(self):
    super().setUp()
    self.flat = checkpoints.drawn("digits_cnn")
    self.arrays = {"/".join(p): a for p, a in self.flat.items()}
    self.first = "conv1/kernel"

  def _refused(self, path, words, **kwargs):
    with self.assertRaisesRegex(errors.UserError, words) as caught:
      models.convert.load("digits_cnn", path, **kwargs)
    self.assertStartsWith(str(caught.exception), str(path)[:300])
    self.assertNotIn("allow_pickle", str(caught.exception))

  def _file(self, name, data):
    path = self.folder / name
    path.write_bytes(data)
    return path

  @parameterized.parameters(
    ("int8", "conv1/kernel is int8, expected float weights"),
    ("bool", "conv1/kernel is bool, expected float"),
    ("complex64", "conv1/kernel is complex64, expected real"),
  )
  def test_other_dtypes(self, dtype, words):
    self.arrays[self.first] = np.ones(self.arrays[self.first].shape, dtype)
    self._refused(self.npz(self.arrays), words)

  def test_floats_of_other_widths(self):
    for dtype in (np.float16, np.float64):
      arrays = {n: a.astype(dtype) for n, a in self.arrays.items()}
      rounded = {p: a.astype(dtype) for p, a in self.flat.items()}
      got = models.convert.load("digits_cnn", self.npz(arrays))
      self.same(got, {p: a.astype(np.float32) for p, a in rounded.items()})

  def test_values(self):
    for value in (np.nan, np.inf, 1e300):
      arrays = {**self.arrays, self.first: np.full((3, 3, 3, 16), value)}
      self._refused(
        self.npz(arrays), "conv1/kernel has 432 values that are NaN"
      )

  def test_names_and_shapes(self):
    arrays = dict(self.arrays)
    kernel = arrays.pop(self.first)
    for change, words in (
      ({}, "1 arrays are not in the file: conv1.weight"),
      ({self.first: kernel, "more": kernel}, "left over: more"),
      ({"conv1/weights": kernel}, "differs is conv1/weights"),
      ({self.first: kernel[1:]}, "conv1/kernel, got .2, 3, 3, 16., expected"),
      ({self.first: kernel[:0]}, "conv1/kernel, got .0, 3, 3, 16., expected"),
    ):
      self._refused(self.npz({**arrays, **change}), words)
    self._refused(self.npz(self.arrays), "has 10 classes", num_classes=7)

  def test_npz(self):
    self._refused(self._file("text.npz", b"hello"), "not a whole NumPy archive")

  @parameterized.parameters(
    (b"", "ends inside its header"),
    (struct.pack("<Q", 1 << 62) + b"{}", "ends inside its header"),
    (struct.pack("<Q", 10) + b"{not json}", "its header: line 1, column 2"),
    (struct.pack("<Q", 9) + b'{"a":[1]}', "does not say where a lies"),
    (struct.pack("<Q", 3) + b"[1]", "no JSON object"),
    (
      struct.pack("<Q", 58)
      + b'{"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}0000',
      "numbers that are not read here",
    ),
  )
  def test_safetensors(self, data, words):
    self._refused(self._file("weights.safetensors", data), words)

  def test_caffemodel(self):
    whole = checkpoints.caffemodel(checkpoints.as_torch(self.flat), False)
    for data, words in (
      (whole + whole, "the array 'conv1/weight' stands twice"),
      (b"<html>" * 99, "no field of a message"),
      (np.random.default_rng(0).bytes(999), "no field of a message"),
    ):
      self._refused(self._file("net.caffemodel", data), words)

  def _orbax(self):
    import orbax.checkpoint as ocp

    path = self.folder / "checkpoint"
    handler = ocp.PyTreeCheckpointHandler(use_ocdbt=False)
    with ocp.Checkpointer(handler) as checkpointer:
      checkpointer.save(path, variables_lib.nest(self.flat), force=True)
    return path

  @parameterized.parameters("cut", "gone", "metadata", "pickle")
  def test_orbax(self, what):
    path = self._orbax()
    self.same(models.convert.load("digits_cnn", path), self.flat)
    chunk = path / "conv1.kernel" / "0.0.0.0"
    if what == "cut":
      chunk.write_bytes(chunk.read_bytes()[:20])
    elif what == "gone":
      chunk.unlink()
    elif what == "metadata":
      (path / "_METADATA").write_text("[1]")
    else:
      target = self.folder / "ran"
      chunk.write_bytes(pickle.dumps(_Bomb(str(target))))
      self.addCleanup(lambda: self.assertFalse(target.exists()))
    with mock.patch.object(sys, "unraisablehook") as echo:
      self._refused(path, "cannot be read as orbax")
    echo.assert_not_called()

  def test_orbax_that_promises_more_than_it_holds(self):
    path = self._orbax()
    file = path / "conv1.kernel" / ".zarray"
    note = json.loads(file.read_text())
    file.write_text(json.dumps({**note, "shape": [1 << 43, 1, 1, 1]}))
    self._refused(path, "promise 35,.* bytes, e.g. conv1.kernel of shape")

  def test_a_training_whose_mean_is_gone(self):
    folder = epath.Path(self.create_tempdir().full_path)
    shutil.copy(self.npz(self.arrays), folder / "weights.npz")
    (folder / "disclosure.json").write_text('{"weights_ema": "0f"}')
    with self.assertRaisesRegex(errors.UserError, "weights_ema.npz is missing"):
      models.convert.load("digits_cnn", folder)

  def test_paths(self):
    good = self.npz(self.arrays)
    link = self.folder / "link.npz"
    link.symlink_to(good)
    self.same(models.convert.load("digits_cnn", link), self.flat)
    upper = self._file("WEIGHTS.NPZ", good.read_bytes())
    self.same(models.convert.load("digits_cnn", upper), self.flat)
    pipe = self.folder / "pipe.npz"
    os.mkfifo(pipe)
    self._refused(pipe, "not a file")
    self._refused(self._file("net.onnx", b""), "the ending '.onnx'")
    (self.folder / "folder.npz").mkdir()
    self._refused(self.folder / "folder.npz", "cannot be read as orbax")
    self._refused("x" * 5000 + ".npz", "no path of a checkpoint")
    link = self.folder / "dangling.npz"
    link.symlink_to(self.folder / "none.npz")
    with self.assertRaisesRegex(FileNotFoundError, "dangling.npz: a link to"):
      models.convert.load("digits_cnn", link)
    for nothing in ("", None, 3):
      with self.assertRaisesRegex(
        errors.UserError, "as a checkpoint, expected"
      ):
        models.convert.load("digits_cnn", nothing)


class _Bomb:
  """Writes a file when it is unpickled."""

  def __init__(self, target: str):
    self.target = target

  def __reduce__(self):
    return (open, (self.target, "w"))
