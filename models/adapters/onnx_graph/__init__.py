"""ONNX graphs: reading of files (`file`), execution in JAX (`graph`)."""
