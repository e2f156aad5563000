"""Families of action-recognition networks, organised like `models.classification`.

>>> import jax
>>> from robust_tfds import models
>>> model = models.get("tiny_r3d")
>>> variables = jax.eval_shape(model.init, jax.random.key(0))  # shapes alone
>>> clips = jax.numpy.zeros((2, 8, 32, 32, 3), "uint8")
>>> jax.eval_shape(model.apply, variables, clips).shape
(2, 10)
"""
