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
    thing: has `.name`, `.spec`, `.init(key)` and `.apply(variables, batch)`, of
      detectors `.apply(variables, batch, sizes)`; and `.on_host = True` where
      `apply` takes and gives numpy arrays.
  """

  thing: Any

  @property
  def code(self) -> Any:
    """The class of the object."""
    return type(self.thing)

  def init(self, key: jax.Array) -> Any:
    """The object's."""
    return self.thing.init(key)

  @property
  def on_host(self) -> bool:
    """Whether it says so."""
    return "on_host" in dir(self.thing) and bool(self.thing.on_host)

  def apply(self, variables: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
    """The object's answer, checked.

    Raises:
      UserError: a batch that its spec does not fit, or an answer of another
        shape or dtype; says which.
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
  of_function: Callable[[Callable[..., Any]], Model] | None = None,
) -> Model:
  """The model that the user's `module:function` returns.

  Args:
    name: `module:function`, with the module on Python's path.
    num_classes: what the caller expects; None takes any.
    of_function: makes a model of a plain function, where the one that is named
      returns it, or needs an argument itself: the batch; None: it is refused.

  Raises:
    UserError: no such function, or what it returns is not a model of
      `num_classes` classes.
  """
  where, _, function = name.partition(":")
  if not all(part.isidentifier() for part in [*where.split("."), function]):
    raise errors.UserError(_not_there(name, "that is no module:function"))
  try:
    module = vars(importlib.import_module(where))
  except ImportError as error:
    raise errors.UserError(_not_there(name, str(error))) from error
  except Exception as error:
    raise errors.UserError(
      f"{name}: its module fails when it is imported: {errors.user_fault(error)}"
    ) from error
  if function not in module:
    raise errors.UserError(_not_there(name, f"{where} has no {function!r}"))
  if not callable(module[function]):
    raise errors.UserError(
      _not_there(name, f"{function!r} is a {type(module[function]).__name__}")
    )
  thing = module[function]
  if not of_function or not _needs_a_batch(thing):
    try:
      thing = thing()
    except errors.UserError:
      raise
    except Exception as error:
      # `def f(*args)` may hide a function of batches, as decorators do.
      if not of_function or not _takes_anything(thing):
        raise errors.UserError(
          f"{name} fails when it is called without arguments:"
          f" {errors.user_fault(error)}"
        ) from error
  is_plain = callable(thing) and not {*_PARTS[1:]} & {*dir(thing)}
  if of_function and is_plain and not isinstance(thing, Model):
    model = of_function(thing)
  else:
    model = _as_model(name, thing)
  if num_classes not in (None, model.spec.num_classes):
    raise errors.UserError(
      f"{name} has {model.spec.num_classes} classes, got"
      f" num_classes={num_classes}: set it in your spec."
    )
  return model


def _needs_a_batch(function: Callable[..., Any]) -> bool:
  """Whether it cannot be called without arguments, and can with one."""
  return _takes(function, None) and not _takes(function)


def _takes_anything(function: Callable[..., Any]) -> bool:
  """Whether its arguments say nothing: `*args, **kwargs`."""
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


def _not_there(name: str, reason: str) -> str:
  return (
    f"No model at {name!r}: {reason}. Expected module:function, with the module"
    " on Python's path."
  )
