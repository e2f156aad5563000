"""`robust-tfds`: one program for all commands, and their help."""

import re
import signal

from absl.testing import parameterized

from robust_tfds import __main__ as script
from robust_tfds import command, config_flag
from tests import in_process

# Every command's help in one process, which ends with what was loaded for them.
_HELP = """
import sys
from absl import flags
from robust_tfds import __main__ as script
before = set(flags.FLAGS)
for name in script.COMMANDS:
  print("\\f")
  sys.argv = ["robust-tfds", name, "--help"]
  try:
    script.main()
  except SystemExit as end:
    assert not end.code, end
  for flag in set(flags.FLAGS) - before:
    delattr(flags.FLAGS, flag)
print("\\f", *({"jax", "tensorflow", "matplotlib"} & set(sys.modules)))
"""


# Ctrl-C while a command's modules are imported.
_STOPPED = """
import os, signal, sys, time
class Stops:
  def find_spec(self, name, path=None, target=None):
    if name == "{module}":
      os.kill(os.getpid(), signal.SIGINT)
      time.sleep(5)
sys.argv = ["/bin/robust-tfds", *{words}]
from robust_tfds.__main__ import main
sys.meta_path.insert(0, Stops())
main()
"""


class ScriptTest(parameterized.TestCase):
  @parameterized.parameters(
    ("robust_tfds.command", "train", "--list"),
    ("robust_tfds.config_flag", "run", "--list"),
    ("jax", "card", "resnet50"),
  )
  def test_stopped_in_its_imports(self, module, *words):
    done = in_process.python("-c", _STOPPED.format(module=module, words=words))
    self.assertEqual(
      (done.returncode, done.stderr),
      (128 + signal.SIGINT, "stopped; the same command goes on\n"),
    )

  def test_help_of_every_command(self):
    done = in_process.python("-c", _HELP)
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    _, *texts, loaded = done.stdout.split("\f")
    self.assertEqual(loaded, "\n")
    self.assertEqual(len(texts), len(script.COMMANDS))
    for name, text in zip(script.COMMANDS, texts):
      self.assertIn(f"\n  robust-tfds {name} ", text)  # an example
      self.assertIn("\nFlags:\n  --help\n  --version\n", text)
      _, *entries = re.split(r"\n  --(?=\S)", text)
      for entry in entries[2:]:
        self.assertRegex(entry, r"(?i)default|required", name)
        self.assertNotIn("repeat this option", entry)
    self.assertIn("--config=TEXT", texts[0])

  def test_what_there_is(self):
    for word in ("--help", "-h"):
      done = in_process.program("robust_tfds", word)
      self.assertEqual((done.returncode, done.stderr), (0, ""))
      for name in script.COMMANDS:
        self.assertRegex(done.stdout, rf"\n  {name} +[A-Z].*\.\n")

  @parameterized.parameters(("--version",), ("run", "--version"))
  def test_version(self, *words):
    done = in_process.program("robust_tfds", *words)
    self.assertEqual(done.stdout, f"{command.VERSION}\n")

  @parameterized.parameters(
    (("rum",), "Unknown command 'rum'. Did you mean 'run'"),
    (("help",), "See robust-tfds --help."),
    (("score",), "--predictions and --out must be given. See --help."),
    (("compare",), "--out must be given. See --help."),
    (("board",), "robust-tfds board does one thing at a time: RUNs"),
    (("run", "--config=quikstart"), "Unknown config 'quikstart'. Did you mean"),
    (("run", "--config=my/quickstart.py"), "shipped config: --config=quicks"),
    (("run", "--config=quickstart:foo"), "expected one of signs_c, signs_p"),
    (("run", "--nothing"), "Unknown command line flag 'nothing'"),
    (("run",), "Say what is run: --config=quickstart"),
    (("run", "--config=train_pixmix"), "train --config=train_pixmix"),
    (("train", "--config=coco_c:x"), "robust-tfds run --config=coco_c:x"),
  )
  def test_refusals(self, words, message):
    done = in_process.program("robust_tfds", *words)
    in_process.check_refused(self, done, message)
    self.assertStartsWith(done.stderr, "Error: ")

  @parameterized.parameters(
    ("run", False, "\nimagenet_c[:MODEL=resnet50] "),
    ("train", True, "\ntrain_standard[:digits|cifar|imagenet] "),
  )
  def test_shipped_configs(self, command, trains, line):
    done = in_process.program("robust_tfds", command, "--list")
    self.assertEqual((done.returncode, done.stderr), (0, ""))
    lines = done.stdout.splitlines()
    names = [s.partition(" ")[0].partition("[")[0] for s in lines]
    self.assertEqual(names, [*config_flag.shipped(trains)])
    for each in lines:
      self.assertRegex(each, r"^\w+(\[:\S+\])? +\S.*\.$")
    self.assertIn(line, f"\n{done.stdout}")

  def test_who_reads_no_further_ends_it_in_silence(self):
    code = (
      "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m',"
      " 'robust_tfds', 'run', '--list'], stdout=-1, stderr=-1); p.stdout.close();"
      " print(p.stderr.read(), p.wait())"
    )
    self.assertEqual(in_process.python("-c", code).stdout, "b'' 141\n")
