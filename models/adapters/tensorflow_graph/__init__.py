"""TensorFlow functions: as programs of JAX by tf2jax, or run on the host."""
