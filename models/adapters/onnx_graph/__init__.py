"""ONNX graphs: read from a file (`file`), run in JAX (`graph`, `operators`)."""
