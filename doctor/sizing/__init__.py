"""What a GRPO run needs: bytes on each GPU and on the host, and the arithmetic of its batches.

Pure functions of the standard library. Sizes are in bytes, counts of parameters in elements. Every formula names its
source; what was assumed is said beside the result.
"""
