"""The guard of a live training run: it looks on from inside, and stops a run before it ruins its weights.

Everything in this package runs inside the patient: Python 3.9, the standard library, `doctor.base`, `doctor.catalogue`,
`doctor.run`, and the patient's own torch, transformers, trl and deepspeed, imported only when they are needed.
"""
