"""Runs the images of a batch one after another on CPUs, all at once elsewhere.

A picture of 224 px is a few hundred KiB and stays in a core's cache for all the
steps of a corruption; a batch of 32 does not, and an offset that differs from
image to image turns a vectorised slice into an element-wise gather under
`vmap`. Motion blur with 40 taps takes 0.3 ms an image one by one and 1.1 ms as
a batch (EPYC, one core). Accelerators want the whole batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax


def plugin(apply: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
  """Decorates a corruption's `apply(image, draws, size, table, edition)`."""

  @functools.wraps(apply)
  def wrapped(image, draws, size, table, edition):
    if isinstance(size.h, int):

      def static(image, draws, table):
        return apply(image, draws, size, table, edition)

      return mapped(static)(image, draws, table)

    def traced(image, draws, size, table):
      return apply(image, draws, size, table, edition)

    return mapped(traced)(image, draws, size, table)

  return wrapped


def mapped(fn: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
  """`fn` with a batching rule that is a loop on CPUs and `vmap` elsewhere.

  Args:
    fn: a function of trees of arrays; it must not close over traced values.
  """
  call = jax.custom_batching.custom_vmap(fn)

  @call.def_vmap
  def rule(axis_size, in_batched, *args):
    del axis_size
    axes = jax.tree.map(lambda b: 0 if b else None, tuple(in_batched))
    flags = jax.tree.leaves(tuple(in_batched))
    tree = jax.tree.structure(args)

    def together(*args):
      return jax.vmap(fn, axes)(*args)

    def in_turn(*args):
      leaves = jax.tree.leaves(args)

      def one(moving):
        moving = iter(moving)
        full = [
          next(moving) if batched else leaf
          for batched, leaf in zip(flags, leaves, strict=True)
        ]
        return fn(*jax.tree.unflatten(tree, full))

      moving = [x for b, x in zip(flags, leaves, strict=True) if b]
      return jax.lax.map(one, moving)

    out = jax.lax.platform_dependent(*args, cpu=in_turn, default=together)
    return out, jax.tree.map(lambda _: True, out)

  return call
