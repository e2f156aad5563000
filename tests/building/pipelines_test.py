"""Sets made by pipelines: the files of a build here, whatever the engine does."""

import dataclasses
import functools
import importlib.util
import os
import pathlib
import pickle
import types
from unittest import mock

import pytest
import tensorflow_datasets as tfds
from absl.testing import parameterized
from tensorflow_datasets.core.utils import shard_utils

from robust_tfds import datasets, errors
from robust_tfds.building import beam_options, pictures, pipelines, source
from robust_tfds.building.sources import frost
from tests import fake_bucket, frost_folder
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
      pipelines.in_order(sources, "test")


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
