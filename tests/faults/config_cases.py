"""Overrides of configs, `eval.main --config=... --plan`: nothing is computed."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Iterator

from tests.faults import commands
from tests.faults.case import Case

_ROOT = pathlib.Path(__file__).resolve().parents[2]


def cases() -> Iterator[Case]:
  """Values, keys, names that do not fit one another; and odd ones."""
  yield from _values()
  yield from _pairs()
  yield from _files()
  yield from _odd()


def _plan(config: str, overrides: tuple[str, ...], folder: pathlib.Path) -> str:
  return commands.run(
    "robust_tfds.eval.main",
    f"--config={_ROOT / 'configs' / config}",
    "--plan",
    f"--workdir={folder / 'run'}",
    *(f"--config.{o}" for o in overrides),
  )


def _case(
  overrides: str, *names: str, config="quickstart.py", right=None
) -> Case:
  split = tuple(overrides.split(" ")) if overrides else ()
  act = functools.partial(_plan, config, split)
  return Case(f"{config} {overrides}", act, names, right)


def _values() -> Iterator[Case]:
  for key, values in (
    ("seed", ("-1.5", "x", "nan")),
    ("batch_size", ("0", "-1", "1.5", "x", "1000000000000")),
    ("baseline", ("alexnte", "model:nobody", "../x", "5", "model:")),
    ("task", ("classificatio", "", "detection", "../x")),
    ("reports", ("maybe",)),
    ("data.name", ("digits_d", "", "../x", "digits", "coco_c")),
    ("data.split", ("tset", "")),
    ("data.source", ("flyy", "", "published")),
    ("data.codec", ("webp", "jpg85", "png", "h264", "published", "jpeg75", "JPEG85")),
    ("data.corruptions", ("fogg", "fog,fogg", "fog_3", "tilt")),
    ("data.severities", ("(0,1)", "(6,)", "(1.5,)", "(-3,)", "('a',)")),
    ("data.limit", ("-1", "1.5", "x", "nan")),
    ("data.subset", ("nobody", "robustbench", "/dev/null", "/tmp")),
    ("data.block_mib", ("nan", "-1", "x")),
    ("data.file_format", ("zip", "tfrecordd")),
    ("data.frost_dir", ("/nowhere",)),
    ("models.digits_cnn.name", ("digits_cnnn", "", "../x")),
    ("models.digits_cnn.train.steps", ("0", "-1", "1.5", "x")),
    ("models.digits_cnn.train.batch_size", ("0", "-1", "x")),
    ("models.digits_cnn.train.learning_rate", ("nan", "-1", "inf", "x")),
    ("models.digits_cnn.train.seed", ("x",)),
    ("models.digits_cnn.train.dataset", ("digitss", "coco_c")),
    ("models.digits_cnn.train.split", ("trian", "")),
  ):  # fmt: skip
    for value in values:
      yield _case(f"{key}={value}", key.rpartition(".")[2] + "|" + _word(key))
  for key in (
    "data.codecs",
    "batchsize",
    "data.limits",
    "models.digits_cnn.checkpont",
    "model.name",
    "data",
    "data.name.x",
  ):
    yield _case(f"{key}=5", key.rpartition(".")[2] + "|'model'")


def _word(key: str) -> str:
  """How a refusal may call what a key is of."""
  last = key.rpartition(".")[2]
  return {
    "name": "data set|dataset|model|coco_c|digits",
    "corruptions": "corruption",
    "severities": "severit",
    "file_format": "format",
    "frost_dir": "frost",
    "data_dir": "/dev/null",
    "dataset": "data set|digits",
  }.get(last, last)


def _pairs() -> Iterator[Case]:
  """Names that do not fit each other."""
  alexnet = "baseline=alexnet"
  yield _case(alexnet, "alexnet", right=_plain)
  for overrides, count in (
    ("data.corruptions=fog,fog", 6),
    ("data.corruptions=", 1),
    ("data.severities=()", 1),
    ("data.severities=(1,1)", 20),
    ("data.severities=5", 20),
  ):
    yield _case(
      overrides,
      "corruption|severit",
      right=lambda out, n=count: f"{n} condition" in out,
    )
  for config, overrides, names in (
    ("cifar10_c.py:tests.faults.own_models:small", alexnet, ("alexnet",)),
    ("tiny_imagenet_c.py:tests.faults.own_models:tiny", alexnet, ("alexnet",)),
    (
      "cifar10_c.py:tests.faults.own_models:small",
      f"data.name=cifar100_c {alexnet}",
      ("alexnet",),
    ),
    (
      "imagenet_p.py:tests.faults.own_models:large",
      "data.name=tiny_imagenet_p",
      ("alexnet",),
    ),
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "data.geometry=inception",
      ("alexnet",),
    ),
    (
      "imagenet_c.py:tests.faults.own_models:inception",
      "data.geometry=model",
      ("alexnet|geometry|299",),
    ),
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "data.name=imagenet64_c",
      ("alexnet|64",),
    ),
  ):
    yield _case(overrides, *names, config=config, right=_plain)
  for config, overrides, name in (
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "data.geometry=imagenett",
      "geometry",
    ),
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "data.codec=h264",
      "codec|h264",
    ),
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "data.codec=published",
      "published|prepared",
    ),
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "data.name=imagenet_p",
      "imagenet_p|task|codec",
    ),
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "data.split=train",
      "split|train",
    ),
    (
      "imagenet_c.py:tests.faults.own_models:large",
      "model.dtype=float16",
      "dtype|float16",
    ),
    (
      "imagenet_c.py:squeezenet1_1",
      "model.checkpoint=/nowhere.npz",
      "/nowhere.npz",
    ),
    ("imagenet_c.py:digits_cnn", "", "class|digits_cnn"),
    ("imagenet_c.py:retinanet_r50", "", "retinanet"),
    ("imagenet_c.py:nonexistent", "", "nonexistent"),
    ("imagenet_c.py:squeezenet1_1+clahee", "", "clahe"),
    ("imagenet_c.py:no_module:build", "", "no_module"),
    ("imagenet_c.py:json:build", "", "json|build"),
    (
      "imagenet_p.py:tests.faults.own_models:large",
      "data.difficulties=(4,)",
      "difficult",
    ),
    (
      "imagenet_p.py:tests.faults.own_models:large",
      "data.difficulties=()",
      "difficult",
    ),
    (
      "imagenet_p.py:tests.faults.own_models:large",
      "data.perturbations=fog",
      "fog",
    ),
    (
      "imagenet_p.py:tests.faults.own_models:large",
      "data.codec=jpeg85",
      "codec|jpeg85",
    ),
    (
      "imagenet_p.py:tests.faults.own_models:large",
      "data.codec=raw",
      "codec|raw",
    ),
    ("quickstart_video.py", "data.views=0", "views"),
    ("quickstart_video.py", "data.views=-2", "views"),
    ("quickstart_video.py", "data.codec=webp", "codec|webp"),
    ("quickstart_video.py", "data.perturbations=fog", "fog"),
    ("quickstart_video.py", "model.num_classes=5", "class|5"),
    ("quickstart_detection.py", "data.codec=h264", "codec|h264"),
    ("quickstart_detection.py", "model.name=digits_cnn", "digits_cnn"),
    ("cityscapes_c.py:mask_rcnn_r50", "data.groups=maybe", "groups"),
    ("vid_robust.py", "data.name=coco_c", "coco_c|task"),
    ("vid_robust.py", "data.codec=jpeg85", "codec"),
  ):
    yield _case(overrides, name, config=config)


def _plain(out: str) -> bool:
  """Plain means only, and the plan says why."""
  text = out.lower()
  return "alexnet" in text and ("plain" in text or "not of" in text)


def _files() -> Iterator[Case]:
  for config, name in (
    ("quickstart.py:foo", "foo"),
    ("quickstart.py:", "quickstart|expected"),
    ("quickstart_video.py:foo", "foo|quickstart_video"),
    ("quickstart_detection.py:foo", "foo|quickstart_detection"),
    ("nowhere.py", "nowhere.py"),
    ("", "config"),
    ("video_p.py:digits_video_p,no_model", "no_model"),
    ("video_p.py:no_set,x3d_m", "no_set"),
    ("video_p.py:a,b,c,d", "a,b,c,d|expected"),
    ("../README.md", "README.md"),
  ):
    yield _case("", name, config=config)
  for kind, text, name in (
    ("a config without get_config", "x = 1\n", "mine.py|get_config"),
    ("a config that fails", "def get_config():\n  raise RuntimeError('no disk')\n",
     "mine.py|no disk"),
    ("a config of a syntax error", "def get_config(:\n", "mine.py"),
    ("a config that is no config", "def get_config():\n  return 5\n", "mine.py|config"),
    ("an empty config", "import ml_collections\ndef get_config():\n"
     "  return ml_collections.ConfigDict()\n", "task|data|batch_size"),
  ):  # fmt: skip
    yield Case(kind, functools.partial(_own, text), (name,))


def _own(text: str, folder: pathlib.Path) -> str:
  (folder / "mine.py").write_text(text)
  return commands.run(
    "robust_tfds.eval.main", f"--config={folder / 'mine.py'}", "--plan"
  )


def _odd() -> Iterator[Case]:
  """Legitimate settings: a plan is printed that names what was set."""
  for config, overrides, word in (
    ("quickstart.py", "", "digits_cnn"),
    ("quickstart.py", "data.corruptions=none", "digits_cnn"),
    ("quickstart.py", "data.severities=(5,1)", "digits_cnn"),
    ("quickstart.py", "data.limit=1000000", "digits_cnn"),
    ("quickstart.py", "seed=123456789", "digits_cnn"),
    ("quickstart.py", "data.codec=jpeg85", "digits_cnn"),
    ("quickstart.py", "baseline=", "digits_cnn"),
    ("quickstart.py", "data.block_mib=1", "digits_cnn"),
    ("quickstart.py:digits_p", "", "digits_cnn"),
    ("quickstart_video.py", "", "tiny_r3d"),
    ("quickstart_detection.py", "", "tiny_retinanet"),
    ("vid_robust.py", "", "digits"),
  ):
    yield Case(
      f"odd: {config} {overrides}",
      functools.partial(_plan, config, tuple(overrides.split())),
      right=lambda out, word=word: word in out,
      slow=word.startswith("tiny"),  # networks that take a minute to measure
    )
