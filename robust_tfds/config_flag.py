"""The flag `--config=NAME[:WHAT]` and `--config.key=value`, refused in words.

A bare word is a config that is shipped, `quickstart:digits_p`; a path is a file of
one's own.

`ml_collections` reads the file and the overrides, and answers most mistakes with a
traceback. So the file is looked at before: what is at fault in the command line is
said in words; what is at fault inside somebody's file keeps its traceback, which
points to the line.

A file names the keys whose values are no defaults. A command says by its schema
which others may be set: `Defaults`.
"""

import ast
import importlib
import importlib.util
import inspect
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_collections
from absl import flags
from ml_collections import config_flags

import configs
from robust_tfds import command, errors

_FLAG = "config"
# The flag's value -> its config from `check` to the flag: a file runs once.
_checked: dict[str, ml_collections.ConfigDict] = {}
_TRAIN = "train_"  # begins the names of configs to train by
# (config, names of the groups that lead to some keys) -> those keys: their defaults.
Defaults = Callable[
  [ml_collections.ConfigDict, Sequence[str]], Mapping[str, Any]
]


def _none(
  config: ml_collections.ConfigDict, groups: Sequence[str]
) -> Mapping[str, Any]:
  del config, groups
  return {}


def define(
  values: flags.FlagValues = flags.FLAGS,
  argv: Sequence[str] | None = None,
  defaults: Defaults = _none,
) -> None:
  """Defines `--config`.

  Args:
    values: the flags that it joins.
    argv: the command's arguments; the program's own if None.
    defaults: of keys that may be set though a file does not name them.
  """
  config_flags.DEFINE_config_file(
    _FLAG,
    None,
    "What is run: a shipped config, NAME or NAME:WHAT (--list says which there are,"
    " each file's docstring what can be set), or a path of a file of yours."
    " --config.KEY=VALUE sets a key: --config.data.limit=1000.",
    values,
    sys_argv=None if argv is None else list(argv),
  )
  flag = values[_FLAG]
  flag.parser = _WithRoom(flag.parser, argv, defaults)


class _WithRoom(flags.ArgumentParser):
  """Reads a config, and makes room for what a command sets beyond its file."""

  def __init__(
    self,
    parser: flags.ArgumentParser,
    argv: Sequence[str] | None,
    defaults: Defaults,
  ):
    """Wraps what reads the config."""
    super().__init__()
    self._parser, self._argv, self._defaults = parser, argv, defaults

  def parse(self, argument: str) -> Any:
    """The config of a file."""
    config = _checked.pop(argument, None)
    if config is None:
      config = self._parser.parse(_located(argument))
    if isinstance(config, ml_collections.ConfigDict):
      for key in _overridden(sys.argv if self._argv is None else self._argv):
        _take_default(config, key.split("."), self._defaults)
    return config


def check(
  argv: Sequence[str], trains: bool = False, defaults: Defaults = _none
) -> None:
  """Refuses a config, or an override, that is not there.

  Args:
    argv: the command's arguments.
    trains: whether the command trains; of others are the other configs.
    defaults: see `define`.

  Raises:
    UserError: no such file, no `get_config` in it, an argument that it does not
      take or refuses, or an unknown key, with a suggestion; a shipped config of
      another command.
  """
  value = _value(argv)
  if value is None:
    return
  name = value.partition(":")[0]
  if name in shipped() and name not in shipped(trains):
    other = "run" if trains else "train"
    raise errors.UserError(
      f"--config={value}: expected a config of this command, got one of"
      f" `robust-tfds {other} --config={value}`."
    )
  path, colon, what = _located(value).partition(":")
  config = _load(path, [what] if colon else [])
  for key in _overridden(argv):
    _check_key(config, key, defaults)
  _checked[value] = config


def shipped(trains: bool | None = None) -> dict[str, pathlib.Path]:
  """The configs of this package: name -> file.

  Args:
    trains: those to train by, or the others; None for all.
  """
  folder = pathlib.Path(configs.__path__[0])
  files = {p.stem: p for p in sorted(folder.glob("[a-z]*.py"))}
  return {
    name: file
    for name, file in files.items()
    if trains in (None, name.startswith(_TRAIN))
  }


def listing(trains: bool = False) -> str:
  """A command's shipped configs, what may stand after a colon, what they are."""
  files = shipped(trains)
  names = {n: f"{n}{_kinds(n) or _after_colon(p)}" for n, p in files.items()}
  width = max(map(len, names.values())) + 2
  lines = [f"{names[n]:{width}}{command.summary(p)}" for n, p in files.items()]
  return "\n".join(lines)


def settings(name: str) -> tuple[str, ...]:
  """All that may stand after a shipped config's colon, where it says that."""
  module = importlib.import_module(f"{configs.__name__}.{name}")
  out: tuple[str, ...] = getattr(module, "SETTINGS", ())
  return out


def _kinds(name: str) -> str:
  """A config's settings without what may follow a comma: `[:digits|imagenet]`."""
  words = dict.fromkeys(s.partition(",")[0] for s in settings(name))
  return f"[:{'|'.join(words)}]" if words else ""


def _after_colon(file: pathlib.Path) -> str:
  """What a config takes: `[:MODEL=resnet50]`; empty for nothing."""
  tree = ast.parse(file.read_text("utf-8"))
  (taken,) = (
    node.args
    for node in tree.body
    if isinstance(node, ast.FunctionDef) and node.name == "get_config"
  )
  if not taken.args:
    return ""
  default = ast.literal_eval(taken.defaults[0])
  return f"[:{taken.args[0].arg.upper()}{f'={default}' * bool(default)}]"


def _located(value: str) -> str:
  """A value of the flag with a file in place of a shipped config's name.

  Raises:
    UserError: no such config is shipped, with the nearest one.
  """
  name, colon, what = value.partition(":")
  if not name.isidentifier():
    return value
  if name not in shipped():
    raise errors.unknown_error("config", name, shipped())
  return f"{shipped()[name]}{colon}{what}"


def _value(argv: Sequence[str]) -> str | None:
  """What `--config` is given; the last one counts."""
  value = None
  for word, following in zip(argv, [*argv[1:], None]):
    name, equals, text = word.lstrip("-").partition("=")
    if word.startswith("-") and name == _FLAG:
      value = text if equals else following
  return value


def _overridden(argv: Sequence[str]) -> list[str]:
  """Keys of `--config.key` and `--noconfig.key`."""
  names = [w.lstrip("-").partition("=")[0] for w in argv if w.startswith("-")]
  stems = [
    n.removeprefix("no") if n.startswith(f"no{_FLAG}.") else n for n in names
  ]
  return [
    s.removeprefix(f"{_FLAG}.") for s in stems if s.startswith(f"{_FLAG}.")
  ]


def _load(path: str, arguments: Sequence[str]) -> ml_collections.ConfigDict:
  file = pathlib.Path(path)
  if not file.is_file():
    kind = "a folder" if file.is_dir() else "no such file"
    example = file.stem if file.stem in shipped() else "quickstart"
    raise errors.UserError(
      f"--config={path}: {kind}, expected a Python file with get_config(), or the"
      f" name of a shipped config: --config={example}."
    )
  get_config = _get_config(file)
  try:
    inspect.signature(get_config).bind(*arguments)
  except TypeError as e:
    got = f"got {arguments[0]!r}" if arguments else "got nothing"
    raise errors.UserError(
      f"--config={path}: get_config{inspect.signature(get_config)} does not fit"
      f" what stands after the colon, {got}."
    ) from e
  config = _of_user(path, lambda: get_config(*arguments))
  if not isinstance(config, ml_collections.ConfigDict):
    raise errors.UserError(
      f"--config={path}: get_config() must return an ml_collections.ConfigDict,"
      f" got {type(config).__name__}."
    )
  return config


def _get_config(file: pathlib.Path) -> Callable[..., Any]:
  spec = importlib.util.spec_from_file_location(f"{file.stem}_checked", file)
  if spec is None or spec.loader is None:
    raise errors.UserError(f"--config={file}: expected a Python file (.py).")
  module = importlib.util.module_from_spec(spec)
  loader = spec.loader
  _of_user(str(file), lambda: loader.exec_module(module))
  function = vars(module).get("get_config")
  if not callable(function):
    raise errors.UserError(
      f"--config={file}: it has no function get_config(); the shipped configs"
      f" are examples: {shipped()['quickstart']}."
    )
  return function


def _of_user(path: str, call: Callable[[], Any]) -> Any:
  """Runs the user's code; what it raises is said with its line."""
  try:
    return call()
  except errors.UserError:
    raise
  except Exception as e:
    raise errors.UserError(
      f"--config={path}: the file fails: {errors.user_fault(e)}"
    ) from e


def _check_key(
  config: ml_collections.ConfigDict, key: str, defaults: Defaults
) -> None:
  """Refuses a key that is not there, once there is room for it."""
  keys = key.split(".")
  _take_default(config, keys, defaults)
  place: Any = config
  path = [_FLAG]
  for depth, part in enumerate(keys, 1):
    name = part.partition("[")[0]  # `severities[0]`
    inside = isinstance(place, ml_collections.ConfigDict)
    absent = inside and name not in place
    if absent and keys[depth:] and defaults(config, keys[:depth]):
      place = ml_collections.ConfigDict()  # a group that is made for a key
      path.append(name)
      continue
    if absent or not inside:
      known = list(place) if inside else []
      more = defaults(config, path[1:])
      unknown = errors.unknown_error(
        "key", name, dict.fromkeys((*known, *more))
      )
      raise errors.UserError(f"--{'.'.join([*path, name])}: {unknown}")
    place = place[name]
    path.append(name)


def _take_default(
  config: ml_collections.ConfigDict, keys: Sequence[str], defaults: Defaults
) -> None:
  """Adds a key that a file does not name and the command knows."""
  *groups, name = keys
  known = defaults(config, groups)
  if name not in known:
    return
  place: Any = config
  with config.unlocked():
    for group in groups:
      if group not in place:
        place[group] = ml_collections.ConfigDict()
      place = place[group]
    if name not in place:
      place[name] = known[name]
