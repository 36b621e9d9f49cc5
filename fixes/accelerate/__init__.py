"""accelerate's launcher and its YAML."""
