"""`--config`: files, arguments and keys that are not there."""

import pathlib

from absl import flags
from absl.testing import parameterized

from eval.run import spec
from robust_tfds import config_flag, errors
from tests import in_process

_QUICKSTART = "--config=configs/quickstart.py"


def _parsed(*words, trains=False):
  """The config of a command line; raises what the command says."""
  values, argv = flags.FlagValues(), ["main", *words]
  flags.DEFINE_string("workdir", None, "", values)
  config_flag.define(spec.defaults, trains=trains, values=values, argv=argv)
  try:
    values(argv)
  except flags.IllegalFlagValueError as e:
    raise e.__context__ from e
  return values.config


class CheckTest(parameterized.TestCase):
  @parameterized.parameters(
    ((),),
    ((_QUICKSTART,),),
    (("--config", "configs/quickstart.py", "--config.batch_size=3"),),
    ((_QUICKSTART, "--config.models.signs_cnn.train.steps=3", "--workdir=x"),),
    ((_QUICKSTART, "--noconfig.reports"),),
    (("--config=configs/video_p.py:ssv2_p,mvit_base_16x4",),),
    (("--config=quickstart:digits_p", "--config.data.difficulties=(2,)"),),
    (("--config=configs/imagenet_c.py", "--config.model.spec.mean=(1,2,3)"),),
    ((_QUICKSTART, "--config.models.signs_cnn.classes=names.txt"),),
  )
  def test_accepted(self, words):
    _parsed(*words)

  @parameterized.parameters(
    ("--config=configs/nope.py", "configs/nope.py: no such file"),
    ("--config=./configs", "configs: a folder, expected a Python file"),
    ("--config=quikstart", "Unknown config 'quikstart'. Did you mean 'quicks"),
    ("--config=my/coco_c.py", "no such file.*shipped config: --config=coco_c"),
    ("--config=README.md", "expected a Python file"),
    (f"{_QUICKSTART}:foo", "quickstart.py:foo: expected one of signs_c"),
    ("--config=configs/video_p.py:x,y", "a dataset of kinetics400_p"),
    ("--config=configs/quickstart_video.py:foo", "after the colon, got 'foo'"),
  )
  def test_files_and_arguments(self, word, message):
    with self.assertRaisesRegex(errors.UserError, message):
      _parsed(word)

  @parameterized.parameters(
    ("data.limt", "--config.data.limt: .*Did you mean 'limit'"),
    ("dta.limit", "--config.dta: .*Did you mean 'data'"),
    ("batch_size.x", "--config.batch_size.x: Unknown key"),
    ("models.signs_cnn.train.stepz", "Did you mean 'steps'"),
    ("models.signs_cnn.spec.men", "spec.men: .*Did you mean 'mean'"),
    ("models.signs_cnn.clases", "Did you mean 'classes'"),
  )
  def test_keys(self, key, message):
    with self.assertRaisesRegex(errors.UserError, message):
      _parsed(_QUICKSTART, f"--config.{key}=1")

  @parameterized.parameters("model.label", "models.b.spec", "data.own")
  def test_a_key_of_no_model_is_unknown(self, key):
    with self.assertRaisesRegex(errors.UserError, "Unknown key"):
      _parsed(_QUICKSTART, f"--config.{key}=1")

  @parameterized.parameters(
    ("x = 1", "no function get_config"),
    ("def get_config():\n  return 3", "got int"),
    ("def get_config(:", "the file fails: SyntaxError: .*line 1"),
    ("def get_config():\n  return 1 / 0", "division by zero .*mine.py, line 2"),
  )
  def test_files_of_users(self, text, message):
    file = self.create_tempfile("mine.py", text).full_path
    with self.assertRaisesRegex(errors.UserError, message):
      _parsed(f"--config={file}")

  def test_fields_of_a_spec_that_the_file_does_not_name(self):
    words = [
      "--config=imagenet_c",
      "--config.model.spec.mean=(0.5,0.5,0.5)",
      "--config.model.spec.scale=1",
      "--config.model.spec.resize=centre_fraction",
      "--noconfig.model.spec.flexible",
      "--config.model.classes=names.txt",
    ]
    model = _parsed(*words).model
    self.assertEqual(model.classes, "names.txt")
    self.assertEqual(
      model.spec.to_dict(),
      {
        "mean": (0.5, 0.5, 0.5),
        "scale": 1.0,
        "resize": "centre_fraction",
        "flexible": False,
      },
    )

  def test_a_file_runs_once(self):
    runs = self.create_tempfile("runs.txt").full_path
    text = (
      "import ml_collections\n"
      "def get_config():\n"
      f"  with open({runs!r}, 'a') as file: file.write('x')\n"
      "  return ml_collections.ConfigDict({'seed': 0}).lock()\n"
    )
    file = self.create_tempfile("mine.py", text).full_path
    config = _parsed(f"--config={file}", "--config.seed=3")
    self.assertEqual(config.seed, 3)
    self.assertEqual(pathlib.Path(runs).read_text("utf-8"), "x")

  def test_the_command_prints_words(self):
    run = in_process.program("eval.main", f"{_QUICKSTART}:foo", "--plan")
    self.assertEqual(run.returncode, 1)
    self.assertStartsWith(run.stderr, "Error: quickstart.py:foo: expected")
    self.assertNotIn("Traceback", run.stderr)
