"""What logs and their context tell of the patient, as the facts that `doctor check` judges."""
