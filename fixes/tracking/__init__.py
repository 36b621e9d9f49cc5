"""Experiment trackers: wandb, TensorBoard, MLflow."""
