"""Options of Apache Beam's pipelines, as users write them: `k=v,k=v`."""

import argparse
import contextlib
import importlib.util
import io
from collections.abc import Mapping, Sequence
from typing import Any

from robust_tfds import errors

_EXAMPLE = "runner=DirectRunner,direct_num_workers=2"
# Runners whose options are all in Beam; others have some of a server's own.
_CLOSED = ("", "direct", "fnapi", "dask", "dataflow", "bundlebaseddirect")
# Beam knows its other runners by their short names.
_DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"
_YES = {"true": True, "1": True, "yes": True}
_NO = {"false": False, "0": False, "no": False}


def split(text: str) -> list[str]:
  """Split a flag's value into options.

  >>> split("runner=DirectRunner,direct_num_workers=2")
  ['runner=DirectRunner', 'direct_num_workers=2']

  Raises:
    UserError: a piece that is not `k=v`.
  """
  pieces = [piece.strip() for piece in text.split(",")] if text.strip() else []
  for piece in pieces:
    name, equals, _ = piece.removeprefix("--").partition("=")
    if not equals or not name.strip():
      raise errors.UserError(
        f"--beam_pipeline_options={text}: {piece!r} is no option; options are"
        f" k=v, with commas between them, e.g. {_EXAMPLE}."
      )
  return pieces


def parse(options: Sequence[str]) -> Any:
  """Return Beam's `PipelineOptions`.

  Args:
    options: options as `k=v`; a switch is `k=true`.

  Raises:
    UserError: Beam is not installed; an option that it does not know, with a
      suggestion, or a value that it does not take.
  """
  if importlib.util.find_spec("apache_beam") is None:
    raise errors.missing_package_error(
      "apache-beam", "beam", "Building in a Beam pipeline"
    )
  from apache_beam.options import pipeline_options

  pairs = [o.removeprefix("--").partition("=")[::2] for o in options]
  runner = dict(pairs).get("runner", "")
  closed = runner.lower().removesuffix("runner") in _CLOSED
  known = _options()
  flags = []
  for name, value in pairs:
    if name == "runner" and value.lower() in ("dask", "daskrunner"):
      value = _DASK
    if name not in known and closed:
      raise errors.unknown_error(
        "option of Beam's pipelines", name, sorted(known)
      )
    flags += _flag(name, value, known.get(name))
  screen = io.StringIO()
  try:
    with contextlib.redirect_stderr(screen):
      parsed = pipeline_options.PipelineOptions(flags)
      parsed.get_all_options()
  except SystemExit as e:  # argparse's way to refuse
    reason = screen.getvalue().strip().rpartition("error: ")[2]
    raise errors.UserError(f"--beam_pipeline_options: {reason}.") from e
  _check_runner(parsed.view_as(pipeline_options.StandardOptions).runner)
  # Examples are of many types, and steps exchange numbers alone.
  parsed.view_as(pipeline_options.TypeOptions).pipeline_type_check = False
  return parsed


def _options() -> Mapping[str, argparse.Action]:
  """Return every option of Beam and its installed runners by name."""
  from apache_beam.options import pipeline_options

  with contextlib.suppress(ImportError):
    from apache_beam.runners.dask import dask_runner  # noqa: F401

  parser = pipeline_options._BeamArgumentParser(
    add_help=False, conflict_handler="resolve"
  )
  for kind in pipeline_options.PipelineOptions.__subclasses__():
    if "_add_argparse_args" in vars(kind):
      kind._add_argparse_args(parser)
  return {
    name.removeprefix("--"): action
    for action in parser._actions
    for name in action.option_strings
    if name.startswith("--")
  }


def _flag(name: str, value: str, action: argparse.Action | None) -> list[str]:
  """Return an option as Beam's own parser takes it."""
  if action is None or action.nargs != 0:
    return [f"--{name}={value}"]
  switch = (_YES | _NO).get(value.lower())
  if switch is None:
    raise errors.UserError(
      f"--beam_pipeline_options: {name} is a switch, got {value!r}; write"
      f" {name}=true or leave it out."
    )
  return [f"--{name}"] if switch else []


def _check_runner(name: str | None) -> None:
  """Refuse a runner that Beam does not have, or whose package is missing."""
  from apache_beam.runners import runner

  try:
    if name == _DASK:
      import distributed  # noqa: F401
  except ImportError as e:
    raise errors.missing_package_error(
      "dask's distributed", "dask", "Beam's runner=DaskRunner"
    ) from e
  try:
    if name:
      runner.create_runner(name)
  except ImportError as e:
    raise errors.UserError(
      f"--beam_pipeline_options: runner={name} needs a package that is not"
      f" installed ({e}); see docs/SCALE.md."
    ) from e
  except (AttributeError, ValueError) as e:
    raise errors.UserError(
      f"--beam_pipeline_options: Beam has no runner={name} ({e})."
    ) from e
