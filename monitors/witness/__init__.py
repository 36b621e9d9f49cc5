"""The witness: does the engine sample from the policy that learns?

At the start of a run, after its first three updates and then every now and then it has trainer and engine score the
same tokens, and compares what they say. Everything here runs inside the patient: Python 3.9, the standard library,
`doctor.base`, `doctor.oracles`, `doctor.catalogue`, and the patient's own torch.
"""
