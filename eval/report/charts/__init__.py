"""How every figure looks, and what several figures draw alike."""
