"""PEFT and LoRA."""
