"""How sets are built: options, scratch, formats, Beam."""

import dataclasses
import functools
import importlib.util
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
import tensorflow_datasets as tfds
from absl.testing import absltest, parameterized
from tensorflow_datasets.core.utils import shard_utils

from robust_tfds import datasets, errors
from robust_tfds.building import (
  beam_options,
  file_formats,
  pictures,
  pipelines,
  scratch,
  source,
  source_notes,
)
from robust_tfds.building.sources import frost
from tests import fake_bucket, frost_folder, in_folder, in_process, pages, quick
from tests.building.sources import small_sets

_FILES = 3  # of each split, so that examples are dealt to files
_KINDS = (
  ("digits_c", "brightness_2", 70),
  ("digits_p", "translate", 9),
  ("digits_video_p", "gaussian_noise_2", 5),
  ("digits_detection_c", "brightness_4", 12),
  ("digits_vid_robust", "reviewed", 70),
)
_DIRECT = (
  "runner=DirectRunner",
  "direct_running_mode=multi_processing",
  "direct_num_workers=2",
)


def _run_here(job, places, options):
  """An engine that takes parts in any order, and tasks twice."""
  del options
  job = pickle.loads(pickle.dumps(job))
  parts = [job.make_part(place)[1] for place in (*places[::-1], places[0])]
  for file in [*job.plan((0, parts))][::-1] * 2:
    job.write_file(file)


def _whole(folder: str | os.PathLike) -> dict[str, bytes]:
  """All files of a set."""
  return {
    path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()
  }


class _Case(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.enter_context(
      mock.patch.object(
        tfds.download,
        "DownloadConfig",
        functools.partial(tfds.download.DownloadConfig, num_shards=_FILES),
      )
    )

  def _built(self, name, config, **options) -> dict[str, bytes]:
    folder = self.create_tempdir().full_path
    built = datasets.prepare(name, config, data_dir=folder, **options)
    return _whole(built.data_dir)

  def _compare(self, name, config, beam_options, **options):
    here = self._built(name, config, **options)
    self.assertLen([n for n in here if "record-" in n], _FILES)
    there = self._built(
      name, config, beam=True, beam_options=beam_options, **options
    )
    self.assertEqual(there, here)


class AnyEngineTest(_Case):
  """The steps of the pipeline, without Beam."""

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.object(pipelines, "_run", _run_here))
    self.enter_context(mock.patch.object(beam_options, "parse"))

  @parameterized.parameters(*_KINDS)
  def test_files(self, name, config, limit):
    self._compare(name, config, (), limit=limit)

  def test_tfrecord(self):
    options = {"limit": 40, "file_format": "tfrecord"}
    here = self._built("digits_c", "clean", **options)
    there = self._built("digits_c", "clean", beam=True, **options)
    self.assertEqual(here, there)

  def test_another_seed_and_sources_with_a_note(self):
    manual = small_sets.MAKERS["imagenet_c"](self.create_tempdir().full_path)
    options = {"manual_dir": manual, "seed": 3}
    here = self._built_alone("imagenet_c", "shot_noise_2", **options)
    there = self._built_alone(
      "imagenet_c", "shot_noise_2", beam=True, **options
    )
    self.assertIn("sources.json", here)
    self.assertEqual(here, there)

  def _built_alone(self, name, config, **options):
    """One file a split: of few examples."""
    one = functools.partial(tfds.download.DownloadConfig.func, num_shards=1)
    with mock.patch.object(tfds.download, "DownloadConfig", one):
      return self._built(name, config, **options)

  def test_a_limit_cuts_the_sources(self):
    jobs = []

    def run(job, places, options):
      jobs.append(job.count)
      _run_here(job, places, options)

    with mock.patch.object(pipelines, "_run", run):
      built = datasets.prepare(
        "digits_c",
        "clean",
        data_dir=self.create_tempdir().full_path,
        limit=5,
        beam=True,
      )
    self.assertEqual(jobs, [5])
    self.assertEqual(built.info.splits["test"].num_examples, 5)

  def test_a_broken_source(self):
    manual = pathlib.Path(self.create_tempdir().full_path)
    small_sets.tiny_imagenet(manual)
    file = manual / "tiny-imagenet-200/val/images/val_1.JPEG"
    data = self.create_tempdir().full_path
    build = functools.partial(
      datasets.prepare,
      *("tiny_imagenet_c", "clean"),
      data_dir=data,
      manual_dir=manual,
      beam=True,
    )
    file.write_bytes(b"no picture")
    with self.assertRaisesRegex(errors.UserError, "val_1.JPEG"):
      build()
    self.assertEmpty(list(pathlib.Path(data).glob("tiny*/clean/*")))

    def elsewhere(job, places, options):
      file.unlink()  # as on a machine that has no such folder
      _run_here(job, places, options)

    with mock.patch.object(pipelines, "_run", elsewhere):
      with self.assertRaisesRegex(
        errors.UserError, "val_1.JPEG.*have to lie where all workers"
      ):
        build()

  def test_an_index_that_a_worker_does_not_have(self):
    def elsewhere(job, places, options):
      folder = self.create_tempdir().full_path
      _run_here(dataclasses.replace(job, folder=folder), places, options)

    with mock.patch.object(pipelines, "_run", elsewhere):
      with self.assertRaisesRegex(
        errors.UserError, "is not on the worker .*data_dir has to be a bucket"
      ):
        self._built("digits_c", "clean", limit=5, beam=True)

  def test_a_bucket(self):
    bucket = fake_bucket.create(self)
    self.enterContext(fake_bucket.in_tensorflow())
    tfrecord = {"limit": 40, "file_format": "tfrecord"}  # as in buckets
    here = self._built("digits_c", "brightness_1", **tfrecord)
    options = {"limit": 40, "beam": True, "data_dir": bucket / "data"}
    there = datasets.prepare("digits_c", "brightness_1", **options)
    files = {p.name: p.read_bytes() for p in there.data_path.iterdir()}
    self.assertEqual(files, here)

  def test_frost_pictures_lie_beside_the_parts(self):
    pictures = frost_folder.drawn()
    seen = []

    def run(job, places, options):
      recipe = job.work.keywords["recipe"]
      seen.append(recipe.frost_dir)
      self.assertTrue(os.path.isfile(f"{recipe.frost_dir}/frost1.png"))
      for file in range(_FILES):
        place = job.template.sharded_filepath(
          shard_index=file, num_shards=_FILES
        )
        place.write_bytes(b"")
      folder = pathlib.Path(job.folder)
      (folder / "size.txt").write_text("0")

    with (
      mock.patch.object(pipelines, "_run", run),
      mock.patch.object(frost, "find", return_value=str(pictures)),
      self.assertRaisesRegex(errors.UserError, "not a whole set"),
    ):
      self._built("digits_c", "frost_2", limit=5, beam=True)
    self.assertIn("incomplete", seen[0])
    self.assertFalse(os.path.exists(seen[0]))


class GraphTest(_Case):
  def _size(self, count: int) -> int:
    """Bytes of what is sent to the workers for so many sources."""
    built = datasets.builder("imagenet_c", "frost_3", data_dir="/x")
    name = "/data/imagenet/train/n01440764/n01440764_{:08d}.JPEG"
    sources = [
      pictures.Source(
        f"n01440764_{i:08d}", 0, source.Picture(source.File("", name.format(i)))
      )
      for i in range(count)
    ]
    template = tfds.core.ShardedFileTemplate(
      split="test",
      dataset_name="imagenet_c",
      data_dir=self.create_tempdir().full_path,
      filetype_suffix="tfrecord",
    )
    job, places = pipelines.prepared(
      pipelines.Split(sources, built._encoder(), built._to_example(), 32),
      built.info.features,
      built._example_writer(),
      template,
      shard_utils.ShardConfig(),
    )
    if importlib.util.find_spec("apache_beam") is None:
      return len(pickle.dumps((job, places)))
    import apache_beam as beam

    pipeline = beam.Pipeline()
    _ = pipeline | pipelines.graph(job, places)
    return pipeline.to_runner_api().ByteSize()

  @pytest.mark.slow
  def test_size(self):
    self.assertLess(self._size(50_000), 200_000)

  @pytest.mark.slow
  def test_size_of_a_training_set(self):
    self.assertLess(self._size(1_281_167), 1_000_000)

  def test_names_that_stand_twice(self):
    sources = [types.SimpleNamespace(example_id=i) for i in "abca"]
    with self.assertRaisesRegex(errors.UserError, "Two examples .* 'a'"):
      pipelines.write_order(sources, "test")


class EngineTest(_Case):
  def setUp(self):
    super().setUp()
    if importlib.util.find_spec("apache_beam") is None:
      self.skipTest("needs apache-beam: pip install 'robust_tfds[beam]'")

  def test_two_processes(self):
    self._compare("digits_c", "brightness_2", _DIRECT, limit=70)

  def test_a_refusal(self):
    manual = pathlib.Path(self.create_tempdir().full_path)
    small_sets.tiny_imagenet(manual)
    file = manual / "tiny-imagenet-200/val/images/val_1.JPEG"
    file.write_bytes(b"no picture")
    with self.assertRaisesRegex(errors.UserError, "^[^\n]*val_1.JPEG"):
      self._built(
        "tiny_imagenet_c",
        "clean",
        manual_dir=manual,
        beam=True,
        beam_options=_DIRECT,
      )

  @parameterized.parameters(*_KINDS)
  @pytest.mark.slow
  def test_every_kind_twice(self, name, config, limit):
    for _ in range(2):
      self._compare(name, config, _DIRECT, limit=limit)

  @parameterized.parameters(*_KINDS)
  @pytest.mark.slow
  def test_dask(self, name, config, limit):
    if importlib.util.find_spec("distributed") is None:
      self.skipTest("needs dask: pip install 'robust_tfds[dask]'")
    import distributed

    with distributed.LocalCluster(
      n_workers=3, threads_per_worker=1, dashboard_address=None
    ) as cluster:
      options = (
        "runner=DaskRunner",
        "dask_partition_size=1",
        f"dask_client_address={cluster.scheduler_address}",
      )
      for _ in range(2):
        self._compare(name, config, options, limit=limit)


class SplitTest(parameterized.TestCase):
  """Options of Beam's pipelines, and what is refused in words."""

  @parameterized.parameters(
    ("", []),
    ("runner=DirectRunner", ["runner=DirectRunner"]),
    ("runner=x, region=y", ["runner=x", "region=y"]),
    ("experiments=a=b,job_name=c", ["experiments=a=b", "job_name=c"]),
  )
  def test_options(self, text, expected):
    self.assertEqual(beam_options.split(text), expected)

  @parameterized.parameters("DirectRunner", "runner=x,", "=3", "runner=x,,a=b")
  def test_refusals(self, text):
    with self.assertRaisesRegex(errors.UserError, "is no option; options are"):
      beam_options.split(text)


class ParseTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    if importlib.util.find_spec("apache_beam") is None:
      self.skipTest("needs apache-beam: pip install 'robust_tfds[beam]'")

  def test_values(self):
    from apache_beam.options import pipeline_options

    parsed = beam_options.parse(
      ["runner=DirectRunner", "direct_num_workers=2", "streaming=false"]
    )
    direct = parsed.view_as(pipeline_options.DirectOptions)
    self.assertEqual(direct.direct_num_workers, 2)
    standard = parsed.view_as(pipeline_options.StandardOptions)
    self.assertEqual(standard.runner, "DirectRunner")
    self.assertFalse(standard.streaming)
    experiments = beam_options.parse(["experiments=a", "experiments=b"])
    debug = experiments.view_as(pipeline_options.DebugOptions)
    self.assertEqual(debug.experiments, ["a", "b"])

  @parameterized.parameters(
    ("direct_num_worker=2", "Did you mean 'direct_num_workers'"),
    ("direct_num_workers=two", "invalid int value: 'two'"),
    ("direct_running_mode=threads", "invalid choice: 'threads'"),
    ("save_main_session=perhaps", "is a switch, got 'perhaps'"),
    ("runner=DirektRunner", "Beam has no runner=DirektRunner"),
    ("runner=no.such.Runner", "needs a package that is not installed"),
  )
  def test_refusals(self, option, message):
    with self.assertRaisesRegex(errors.UserError, message):
      beam_options.parse([option])

  def test_servers_have_options_of_their_own(self):
    parsed = beam_options.parse(["runner=FlinkRunner", "checkpointing=3"])
    self.assertIn("--checkpointing=3", parsed._flags)


class PixelsTest(absltest.TestCase):
  """Pixels that are kept on disk, and folders that killed builds left."""

  def test_what_is_kept_comes_back(self):
    folder = self.create_tempdir().full_path
    rng = np.random.default_rng(0)
    video = rng.integers(0, 256, (5, 4, 6, 3), np.uint8)
    first = scratch.keep(folder, iter(video))
    image = scratch.keep_picture(folder, video[2, ::2])  # not contiguous
    np.testing.assert_array_equal(first.read(), video)
    np.testing.assert_array_equal(list(first.frames()), video)
    np.testing.assert_array_equal(first.frame(3), video[3])
    np.testing.assert_array_equal(image.read(), video[2, ::2])
    self.assertEqual(image.offset, video.nbytes)

  def test_frames_of_two_sizes(self):
    frames = [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8)]
    with self.assertRaisesRegex(errors.UserError, "frames of different sizes"):
      scratch.keep(self.create_tempdir().full_path, frames)


class ScratchTest(in_folder.TestCase):
  def test_it_is_gone_at_the_end(self):
    place = scratch.Scratch(self.root)
    scratch.keep_picture(place.folder, np.zeros((2, 2, 3), np.uint8))
    self.assertEqual(place.used(), 12)
    place.remove()
    place.remove()
    self.assertEmpty(os.listdir(self.root))

  def test_what_a_killed_build_left(self):
    place = scratch.Scratch(self.root)
    left = self.root / f"{place.folder.name}_"  # nobody holds its lock
    left.mkdir()
    scratch.discard_leftovers(self.root)
    self.assertEqual(list(self.root.iterdir()), [place.folder])
    place.remove()

  def test_no_room(self):
    place = scratch.Scratch(self.root)
    usage = shutil.disk_usage(self.root)._replace(free=1 << 30)
    with mock.patch.object(shutil, "disk_usage", return_value=usage):
      place.check_room(1 << 20)
      with self.assertRaisesRegex(
        errors.UserError, "no room .*about 7.0 GiB are needed, 1.0 GiB free"
      ):
        place.check_room(7 << 30)
    place.remove()

  def test_a_parent_that_is_a_file(self):
    with self.assertRaisesRegex(errors.UserError, "cannot be kept there"):
      scratch.Scratch(__file__)


_ROOT = pathlib.Path(__file__).resolve().parents[2]
# A machine without TensorFlow; programs' last lines are their own.
_HIDDEN = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *places: (
  None if name == "tensorflow" else find(name, *places)
)
"""
_WITHOUT = """
from robust_tfds import datasets, errors
from robust_tfds.building import file_formats
from eval.pipeline import inputs
built = datasets.prepare("digits_c", "clean", data_dir={root!r}, limit=5)
try:
  (batch,) = inputs.Source(built, "test", batch_size=5).batches()
  rows = list(file_formats.rows(built, "test"))
  print(batch.image.sum() == sum(r["image"].sum() for r in rows))
except errors.UserError as refusal:
  print(refusal)
"""
_OUR_LOAD = """
import os, robust_tfds
from robust_tfds import errors
for name in ("digits_c", "digits_c/fog/3"):
  try:
    robust_tfds.load(name, split="test", data_dir={root!r})
  except errors.UserError as refusal:
    print(refusal)
print(int(os.path.exists({root!r} + "/digits_c/fog_3")))
"""
_LOAD = """
import robust_tfds, tensorflow_datasets as tfds
builder = tfds.builder("digits_c/clean", data_dir={root!r} + "_array")
builder.download_and_prepare(file_format="array_record")
try:
  tfds.load("digits_c/fog_3", split="test", data_dir={root!r})
except robust_tfds.errors.UserError as refusal:
  print(refusal)
"""


class FileFormatsTest(in_folder.TestCase):
  def _prepare(self, **options):
    options = {"data_dir": self.root, "limit": 5, **options}
    return datasets.prepare("digits_c", "clean", **options)

  def test_defaults(self):
    self.assertTrue(file_formats.is_array_record(self._prepare()))
    for folder, expected in (
      (None, "array_record"),
      ("/data", "array_record"),
      ("gs://bucket/data", "tfrecord"),
    ):
      self.assertEqual(file_formats.default_format(folder), expected)

  def test_both_are_read(self):
    there = self._prepare(file_format="tfrecord", data_dir=self.root / "old")
    again = self._prepare(data_dir=self.root / "old")
    self.assertFalse(file_formats.is_array_record(again))
    for old, new in zip(
      file_formats.rows(there, "test"),
      file_formats.rows(self._prepare(), "test"),
      strict=True,
    ):
      self.assertEqual(old["example_id"], new["example_id"])
      np.testing.assert_array_equal(old["image"], new["image"])

  def test_tfds_load_reads_what_was_prepared(self):
    folder = self._prepare().data_dir.partition("/digits_c")[0]
    ids = [
      r["example_id"]
      for r in tfds.as_numpy(
        tfds.load("digits_c", split="test[1:4]", data_dir=folder)
      )
    ]
    whole = [
      r["example_id"] for r in file_formats.rows(self._prepare(), "test")
    ]
    self.assertEqual(ids, whole[1:4])
    shuffled = tfds.load(
      "digits_c", split="test", data_dir=folder, shuffle_files=True
    )
    self.assertLen(list(shuffled), 5)

  @parameterized.parameters(
    ("array_record", "^True$"),
    (
      "tfrecord",
      r"digits_c.* \(TFRecord files\) needs TensorFlow, which is not installed:"
      r" pip install 'robust_tfds\[tf\]'\.$",
    ),
  )
  def test_without_tensorflow(self, file_format, said):
    self._prepare(file_format=file_format)
    program = _HIDDEN + _WITHOUT.format(root=str(self.root))
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertNotIn("OpenCV", done.stderr)
    self.assertRegex(done.stdout.splitlines()[-1], said)

  def test_our_load_without_tensorflow_names_what_works(self):
    """Also of a set that is there, where TFDS ended with a ModuleNotFoundError."""
    self._prepare()
    program = _HIDDEN + _OUR_LOAD.format(root=str(self.root))
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(
      done.stdout.splitlines()[-2:],
      [
        "robust_tfds.load gives a tf.data.Dataset and needs TensorFlow, which is not"
        " installed: pip install 'robust_tfds[tf]'. Without it, e.g. for PyTorch's"
        ' DataLoader: tfds.data_source("digits_c/fog_3", split=..., builder_kwargs='
        '{"file_format": "array_record"}).',
        "0",  # nothing was prepared
      ],
    )

  def test_the_page_of_a_data_loader_without_tensorflow(self):
    pytest.importorskip("torch")
    section = pages.sections("QUICKSTART.md")["Corrupted sets with `tfds.load`"]
    (block,) = [b for kind, b in section if "torch" in b]
    block = block.replace(
      'split="test"', 'split="test", data_dir="' + str(self.root) + '"'
    )
    done = in_process.python("-c", _HIDDEN + block)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(
      done.stdout.splitlines()[-1], "torch.Size([64, 32, 32, 3])"
    )

  def test_load_without_tensorflow_begins_nothing(self):
    program = _HIDDEN + _LOAD.format(root=str(self.root / "new"))
    done = in_process.python("-c", program)
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertRegex(
      done.stdout.splitlines()[-1],
      r"needs TensorFlow.* pip install 'robust_tfds\[tf\]'\.",
    )
    self.assertFalse((self.root / "new").exists())


class KnownTest(parameterized.TestCase):
  """Embedded pictures: what is known of the test split without reading it."""

  @parameterized.parameters(
    ("digits_c", 359, "digit_0004", 4),
    ("digits_p", 359, "digit_0004", 4),
    ("signs_c", 240, "test_0013", 1),
    ("signs_p", 240, "test_0013", 1),
  )
  def test_ids_and_labels(self, name, count, example_id, label):
    cls = datasets.builder_class(name)
    self.assertLen(cls.known_ids(), count)
    self.assertEqual(cls.known_label(example_id), label)
    self.assertIsNone(cls.known_label("train_0000"))


class SourceNotesTest(parameterized.TestCase):
  """Sets that are there: taken as they are while their sources are the same."""

  def setUp(self):
    super().setUp()
    self._folder = pathlib.Path(self.create_tempdir().full_path)
    self._manual = self._folder / "manual"

  def _sources(self, name: str) -> None:
    self._manual.mkdir()
    made = small_sets.MAKERS[name](self._manual)
    if made != self._manual:
      shutil.copytree(made, self._manual, dirs_exist_ok=True)

  def _is_there(self, name: str, manual: pathlib.Path | None = None) -> bool:
    built = datasets.prepare(
      name,
      "clean",
      data_dir=self._folder / "data",
      manual_dir=manual or self._manual,
    )
    return built.found_on_disk

  @parameterized.parameters(
    ("cifar10_c", "cifar-10-batches-bin/test_batch.bin", "test_00002"),
    ("coco_c", "val2017/000000000139.jpg", "000000000139.jpg"),
    ("coco_c", "annotations/instances_val2017.json", "000000000139.jpg"),
    ("pascal_c", "VOCdevkit/VOC2007/Annotations/000001.xml", "000001.jpg"),
    ("tiny_imagenet_c", "tiny-imagenet-200/val/images/val_1.JPEG", "val_1"),
    ("ssv2_p", "20bn-something-something-v2/9.webm", "9.webm"),
  )
  def test_changed(self, name, below, example):
    self._sources(name)
    self.assertFalse(self._is_there(name))
    self.assertTrue(self._is_there(name))
    file = self._manual / below
    data = file.read_bytes()
    if file.suffix == ".json":
      file.write_bytes(data.replace(b'"area": ', b'"area": 1', 1))
    else:
      file.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
    with self.assertRaisesRegex(
      errors.UserError, f"^{self._folder}.*made from other.*{example}"
    ):
      self._is_there(name)
    file.write_bytes(data)
    self.assertTrue(self._is_there(name))

  def test_other_examples(self):
    self._sources("tiny_imagenet_c")
    self._is_there("tiny_imagenet_c")
    path = self._manual / "tiny-imagenet-200/val/val_annotations.txt"
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    with self.assertRaisesRegex(errors.UserError, "2 examples then, 1 now"):
      self._is_there("tiny_imagenet_c")

  @parameterized.parameters(
    lambda root: shutil.rmtree(root / "tiny-imagenet-200/val/images"),
    lambda root: os.utime(root / "tiny-imagenet-200/val/images/val_0.JPEG"),
    lambda root: (root / "notes.txt").write_text("mine"),
    lambda root: zipped(root),
  )
  def test_same_or_gone(self, change: Callable[[pathlib.Path], None]):
    self._sources("tiny_imagenet_c")
    self._is_there("tiny_imagenet_c")
    change(self._manual)
    self.assertTrue(self._is_there("tiny_imagenet_c"))

  def test_elsewhere(self):
    self._sources("tiny_imagenet_c")
    self._is_there(
      "tiny_imagenet_c", pathlib.Path(os.path.relpath(self._manual))
    )
    other = self._folder / "other"
    shutil.move(self._manual, other)
    self.assertTrue(self._is_there("tiny_imagenet_c", other))

  def test_sets_without_a_note_and_broken_ones(self):
    self._sources("tiny_imagenet_c")
    self._is_there("tiny_imagenet_c")
    (path,) = (self._folder / "data").rglob(source_notes.NAME)
    path.write_text(path.read_text()[:-9])
    with self.assertRaisesRegex(errors.UserError, f"^{path}"):
      self._is_there("tiny_imagenet_c")
    path.unlink()
    (self._manual / "tiny-imagenet-200/val/images/val_0.JPEG").write_bytes(b"")
    self.assertTrue(self._is_there("tiny_imagenet_c"))


def zipped(root: pathlib.Path) -> None:
  """Packs Tiny ImageNet's folder as it was before it was unpacked."""
  folder = root / "tiny-imagenet-200"
  with zipfile.ZipFile(root / "tiny-imagenet-200.zip", "w") as archive:
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
      archive.write(path, path.relative_to(root))
  shutil.rmtree(folder)


_BEAM = (
  "runner=DirectRunner",
  "direct_running_mode=multi_processing",
  "direct_num_workers=2",
)
_CASES = (
  ("digits_c", "brightness_2", 40),
  ("digits_p", "translate", 12),
  ("digits_detection_c", "brightness_4", 12),
)
_FROM_FILES = (  # in pictures of few chunks: each starts two processes
  ("cifar100_c", "shot_noise_2"),
  ("tiny_imagenet_c", "shot_noise_2"),
  ("imagenet_c", "contrast_2_inception"),
)


def _records(name: str, config: str, folder: str, **options) -> list[bytes]:
  built = datasets.prepare(name, config, data_dir=folder, **options)
  paths = sorted(pathlib.Path(built.data_dir).glob("*record-*"))
  return [path.read_bytes() for path in paths]


class WriterTest(parameterized.TestCase):
  """Equal bytes: one process, several workers, Beam's worker processes."""

  def _folder(self) -> str:
    return self.create_tempdir().full_path

  @parameterized.parameters(*_CASES[:2])  # of objects: coco_c_test
  @pytest.mark.slow  # quick: of files, below
  def test_workers(self, name, config, limit):
    one, two = (
      _records(name, config, self._folder(), workers=workers, limit=limit)
      for workers in (1, 2)
    )
    self.assertNotEmpty(one)
    self.assertEqual(one, two)

  @pytest.mark.slow  # workers are other processes too
  def test_another_process(self):
    code = (
      "import sys; from robust_tfds import datasets;"
      "datasets.prepare('digits', data_dir=sys.argv[1], limit=50)"
    )
    folder = self._folder()
    # Protocol buffers order their maps by a hash that is seeded per process.
    subprocess.run(
      [sys.executable, "-c", code, folder],
      check=True,
      env={**os.environ, "PYTHONHASHSEED": "1"},
      capture_output=True,
    )
    self.assertEqual(
      _records("digits", "", folder, limit=50),
      _records("digits", "", self._folder(), limit=50),
    )

  @quick.cases(_FROM_FILES[1:2], (_FROM_FILES[0], _FROM_FILES[2]))
  def test_workers_read_files(self, name, config):
    manual = small_sets.MAKERS[name](pathlib.Path(self._folder()))
    one, two = (
      _records(name, config, self._folder(), workers=workers, manual_dir=manual)
      for workers in (1, 2)
    )
    self.assertNotEmpty(one)
    self.assertEqual(one, two)

  @parameterized.parameters(*_FROM_FILES)
  def test_beam_reads_files(self, name, config):
    if importlib.util.find_spec("apache_beam") is None:
      self.skipTest("needs apache-beam: pip install 'robust_tfds[beam]'")
    manual = small_sets.MAKERS[name](pathlib.Path(self._folder()))
    beam = {"beam": True, "beam_options": _BEAM}
    self.assertEqual(
      _records(name, config, self._folder(), manual_dir=manual, **beam),
      _records(name, config, self._folder(), manual_dir=manual),
    )

  @parameterized.parameters(*_CASES)
  def test_beam(self, name, config, limit):
    if importlib.util.find_spec("apache_beam") is None:
      self.skipTest("needs apache-beam: pip install 'robust_tfds[beam]'")
    folder = self._folder()
    self.assertEqual(
      _records(
        name, config, folder, limit=limit, beam=True, beam_options=_BEAM
      ),
      _records(name, config, self._folder(), limit=limit),
    )
