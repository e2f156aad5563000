"""A user's own model, named `module:function` wherever a name is asked for."""

import dataclasses
import importlib
import inspect
from collections.abc import Callable
from typing import Any

import jax

from models.checks import answers, arguments
from models.model import Model
from models.spec import ModelSpec
from robust_tfds import errors

_PARTS = ("name", "spec", "init", "apply")


@dataclasses.dataclass(frozen=True, eq=False)
class OwnModel(Model):
  """An object of the user's that has a model's parts but not its class.

  Attributes:
    thing: an object with `.name`, `.spec`, `.init(key)` and `.apply(variables,
      batch)`, for detectors `.apply(variables, batch, sizes)`; and `.on_host =
      True` if `apply` takes and returns numpy arrays.
  """

  thing: Any

  @property
  def code(self) -> Any:
    """The class of the object."""
    return type(self.thing)

  def init(self, key: jax.Array) -> Any:
    """Return the object's variables."""
    return self.thing.init(key)

  @property
  def on_host(self) -> bool:
    """Whether the object says that it runs on the host."""
    return "on_host" in dir(self.thing) and bool(self.thing.on_host)

  def apply(self, variables: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the object's answer, checked.

    Raises:
      UserError: the batch does not fit its spec, or the answer has another
        shape or dtype.
    """
    take = arguments.numpy_batch if self.on_host else arguments.batch
    batch = take(self.name, batch)
    self.spec.check_shape(self.name, batch.shape)
    arguments.check_pixels(self.name, batch.dtype)
    answer = self.thing.apply(variables, batch, *args, **kwargs)
    return answers.check(
      self.name, self.spec, answer, len(batch), on_host=self.on_host
    )


def from_user(
  name: str,
  num_classes: int | None = None,
  adapt: Callable[[Callable[..., Any]], Model] | None = None,
) -> Model:
  """Return the model that the user's `module:function` returns.

  Args:
    name: `module:function`, with the module on Python's path.
    num_classes: the expected number of classes; None takes any.
    adapt: makes a model from a plain function of a batch, which is the named
      function or what it returns; None: plain functions are refused.

  Raises:
    UserError: there is no such function, or it returns no model of
      `num_classes` classes.
  """
  where, _, function = name.partition(":")
  if not all(part.isidentifier() for part in [*where.split("."), function]):
    raise _missing_error(name, "that is no module:function")
  try:
    module = vars(importlib.import_module(where))
  except ImportError as error:
    raise _missing_error(name, str(error)) from error
  except Exception as error:
    raise errors.UserError(
      f"{name}: its module fails when it is imported: {errors.user_fault(error)}"
    ) from error
  if function not in module:
    raise _missing_error(name, f"{where} has no {function!r}")
  if not callable(module[function]):
    raise _missing_error(
      name, f"{function!r} is a {type(module[function]).__name__}"
    )
  thing = module[function]
  if not adapt or not _needs_batch(thing):
    try:
      thing = thing()
    except errors.UserError:
      raise
    except Exception as error:
      # `def f(*args)` may hide a function of batches, as decorators do.
      if not adapt or not _takes_anything(thing):
        raise errors.UserError(
          f"{name} fails when it is called without arguments:"
          f" {errors.user_fault(error)}"
        ) from error
  is_plain = callable(thing) and not {*_PARTS[1:]} & {*dir(thing)}
  if adapt and is_plain and not isinstance(thing, Model):
    model = adapt(thing)
  else:
    model = _as_model(name, thing)
  if num_classes not in (None, model.spec.num_classes):
    raise errors.UserError(
      f"{name} has {model.spec.num_classes} classes, got"
      f" num_classes={num_classes}: set it in your spec."
    )
  return model


def _needs_batch(function: Callable[..., Any]) -> bool:
  """Return whether a function needs exactly one argument."""
  return _takes(function, None) and not _takes(function)


def _takes_anything(function: Callable[..., Any]) -> bool:
  """Return whether a function takes `*args` or `**kwargs` alone."""
  if not inspect.isfunction(function):
    return False
  kinds = {p.kind for p in inspect.signature(function).parameters.values()}
  return bool(kinds) and kinds <= {
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
  }


def _takes(function: Callable[..., Any], *arguments: Any) -> bool:
  if not inspect.isfunction(function):
    return False
  try:
    inspect.signature(function).bind(*arguments)
  except TypeError:
    return False
  return True


def _as_model(name: str, thing: Any) -> Model:
  if isinstance(thing, Model):
    return thing
  missing = [part for part in _PARTS if part not in dir(thing)]
  if missing:
    raise errors.UserError(
      f"{name} returned a {type(thing).__name__} without"
      f" {', '.join(missing)}: a model has {', '.join(_PARTS)}. The adapters of"
      " models.adapters make one from what you have."
    )
  if not isinstance(thing.spec, ModelSpec):
    raise errors.UserError(
      f"{name} has a spec of type {type(thing.spec).__name__}, expected a"
      " models.spec.Spec, models.video.spec.VideoSpec or"
      " models.detection.detector.DetectorSpec."
    )
  return OwnModel(thing.name, thing.spec, thing)


def _missing_error(name: str, reason: str) -> errors.UserError:
  return errors.UserError(
    f"No model at {name!r}: {reason}. Expected module:function, with the module"
    " on Python's path."
  )
