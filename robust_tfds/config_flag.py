"""The flag `--config=NAME[:WHAT]` and `--config.KEY=VALUE`, refused in words.

A bare word is a shipped config, `quickstart:digits_p`; a path is a file of the
user's. `ml_collections` sets the keys. It answers most mistakes with a traceback, so
the file and the keys are checked first. What fails inside the user's file is refused
with its line.

A command's schema says which keys may be set though a file does not name them:
`Defaults`.
"""

import importlib.util
import inspect
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_collections
from absl import flags
from ml_collections import config_flags

from robust_tfds import command, errors, layout

_FLAG = "config"
_SHOWN = 5  # arguments of a config that the listing names
_TRAIN = "train_"  # begins the names of configs to train by
# (config, names of the groups that lead to some keys) -> those keys: their defaults.
Defaults = Callable[
  [ml_collections.ConfigDict, Sequence[str]], Mapping[str, Any]
]


def define(
  defaults: Defaults,
  *,
  trains: bool = False,
  values: flags.FlagValues = flags.FLAGS,
  argv: Sequence[str] | None = None,
) -> None:
  """Define the flag `--config`.

  Args:
    defaults: the keys that may be set though a file does not name them.
    trains: whether the command trains; configs to train by are refused elsewhere.
    values: the flags to add it to.
    argv: the command's arguments; None: the program's own.
  """
  config_flags.DEFINE_config_file(
    _FLAG,
    None,
    "A shipped config, NAME or NAME:ARGUMENT, or the path of your own file. --list"
    " names the configs, and each file's docstring says what can be set."
    " --config.KEY=VALUE sets a key: --config.data.limit=1000.",
    values,
    sys_argv=None if argv is None else list(argv),
  )
  values[_FLAG].parser = _Parser(defaults, trains, argv)


class _Parser(flags.ArgumentParser):
  """The parser of the flag, which runs a config's file once."""

  def __init__(
    self, defaults: Defaults, trains: bool, argv: Sequence[str] | None
  ):
    """Create the parser, see `define`."""
    super().__init__()
    self._defaults, self._trains, self._argv = defaults, trains, argv

  def parse(self, argument: str) -> ml_collections.ConfigDict:
    """Return the config of a file, which has all keys that the command sets.

    Raises:
      UserError: a config of another command, no such file, a file without a
        `get_config` that takes the argument, or an unknown key.
    """
    config = _load(argument, self._trains)
    for key in _overridden(sys.argv if self._argv is None else self._argv):
      _add_default(config, key, self._defaults)
    return config


def shipped(trains: bool | None = None) -> dict[str, pathlib.Path]:
  """Return the shipped configs: name -> file.

  Args:
    trains: whether to list configs to train by, or the others; None: all.
  """
  files = sorted(layout.folder("configs").glob("[a-z]*.py"))
  return {
    file.stem: file
    for file in files
    if trains in (None, file.stem.startswith(_TRAIN))
  }


def listing(trains: bool = False) -> str:
  """Return a command's shipped configs with their arguments and summaries."""
  files = shipped(trains)
  forms = {n: f"{n}{_argument_form(n)}" for n in files}
  width = max(map(len, forms.values())) + 2
  lines = [f"{forms[n]:{width}}{command.summary(p)}" for n, p in files.items()]
  return "\n".join(lines)


def settings(name: str) -> tuple[str, ...]:
  """Return all arguments that a shipped config takes; empty if it takes any."""
  module = layout.module(f"configs.{name}")
  out: tuple[str, ...] = getattr(module, "SETTINGS", ())
  return out


def _argument_form(name: str) -> str:
  """Return what may stand after a config's name: `[:MODEL=resnet50]`."""
  words = list(dict.fromkeys(s.partition(",")[0] for s in settings(name)))
  if words:
    return f"[:{'|'.join(words[:_SHOWN])}{'|...' * (len(words) > _SHOWN)}]"
  get_config = layout.module(f"configs.{name}").get_config
  for parameter in inspect.signature(get_config).parameters.values():
    default = f"={parameter.default}" * bool(parameter.default)
    return f"[:{parameter.name.upper()}{default}]"
  return ""


def _overridden(argv: Sequence[str]) -> list[str]:
  """Return the keys of `--config.KEY` and `--noconfig.KEY`."""
  names = [w.lstrip("-").partition("=")[0] for w in argv if w.startswith("-")]
  starts = (f"{_FLAG}.", f"no{_FLAG}.")
  return [n.partition(".")[2] for n in names if n.startswith(starts)]


def _load(value: str, trains: bool) -> ml_collections.ConfigDict:
  """Return the config of a value of the flag."""
  name, colon, what = value.partition(":")
  place = name
  if name.isidentifier():
    if name not in shipped():
      raise errors.unknown_error("config", name, shipped())
    if name not in shipped(trains):
      other = "run" if trains else "train"
      raise errors.UserError(
        f"--config={value}: expected a config of this command, got one of"
        f" `robust-tfds {other} --config={value}`."
      )
    place = str(shipped()[name])
  get_config = _get_config(pathlib.Path(place))
  arguments = [what] if colon else []
  try:
    inspect.signature(get_config).bind(*arguments)
  except TypeError as e:
    got = repr(what) if colon else "nothing"
    raise errors.UserError(
      f"--config={place}: get_config{inspect.signature(get_config)} does not take"
      f" what stands after the colon, got {got}."
    ) from e
  config = _run(place, lambda: get_config(*arguments))
  if not isinstance(config, ml_collections.ConfigDict):
    raise errors.UserError(
      f"--config={place}: get_config() must return an ml_collections.ConfigDict,"
      f" got {type(config).__name__}."
    )
  return config.lock()


def _get_config(file: pathlib.Path) -> Callable[..., Any]:
  """Return the function of a config's file."""
  if not file.is_file():
    kind = "a folder" if file.is_dir() else "no such file"
    example = file.stem if file.stem in shipped() else "quickstart"
    raise errors.UserError(
      f"--config={file}: {kind}, expected a Python file with get_config(), or the"
      f" name of a shipped config: --config={example}."
    )
  spec = importlib.util.spec_from_file_location(f"config_{file.stem}", file)
  if spec is None or spec.loader is None:
    raise errors.UserError(f"--config={file}: expected a Python file (.py).")
  module = importlib.util.module_from_spec(spec)
  loader = spec.loader
  _run(str(file), lambda: loader.exec_module(module))
  function = vars(module).get("get_config")
  if not callable(function):
    raise errors.UserError(
      f"--config={file}: it has no function get_config(); the shipped configs"
      f" are examples: {shipped()['quickstart']}."
    )
  return function


def _run(path: str, call: Callable[[], Any]) -> Any:
  """Run the user's code; refuse what it raises, with its line."""
  try:
    return call()
  except errors.UserError:
    raise
  except Exception as e:
    raise errors.UserError(
      f"--config={path}: the file fails: {errors.user_fault(e)}"
    ) from e


def _add_default(
  config: ml_collections.ConfigDict, key: str, defaults: Defaults
) -> None:
  """Add a key that a file does not name; refuse an unknown one."""
  names = key.split(".")
  place: Any = config
  for depth, name in enumerate(names):
    groups = names[:depth]
    known: dict[str, Any] = {}
    if isinstance(place, ml_collections.ConfigDict):
      known = {**dict.fromkeys(place), **defaults(config, groups)}
      is_group = depth + 1 < len(names) and defaults(config, names[: depth + 1])
      if name not in known and is_group:
        known[name] = ml_collections.ConfigDict()
    if name not in known:
      unknown = errors.unknown_error("key", name, known)
      raise errors.UserError(f"--{'.'.join([_FLAG, *groups, name])}: {unknown}")
    if name not in place:
      with config.unlocked():
        place[name] = known[name]
    place = place[name]
