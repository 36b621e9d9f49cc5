"""What is asked: a model, GPUs, a way to share the work, and a GRPO configuration."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.base.record import record
from doctor.sizing.shape import Matrix, ModelShape

GIB = 1024**3
#: bytes of an element
WIDTH: Mapping[str, float] = {"float32": 4, "bfloat16": 2, "float16": 2}
STRATEGIES = ("single", "ddp", "zero0", "zero1", "zero2", "zero3", "fsdp", "fsdp-grad-op")
HEADS = ("full", "chunked", "liger")
ATTENTIONS = ("flash", "sdpa", "eager")


@record
class Lora:
    """A LoRA adapter: its rank and the modules it sits at (names of matrices, or `all-linear`)."""

    rank: int = 8
    targets: tuple[str, ...] = ("all-linear",)
    width: float = 4  # PEFT keeps adapters in float32 (`autocast_adapter_dtype`)

    def at(self, shape: ModelShape) -> tuple[Matrix, ...]:
        """Matrices that get an adapter. PEFT's `all-linear` takes every `nn.Linear` but the output layer."""
        plain = [each for each in shape.matrices if not each.expert and each.name != "router"]
        if "all-linear" in self.targets:
            return tuple(plain)
        return tuple(each for each in plain if each.name in self.targets)

    def parameters(self, shape: ModelShape) -> int:
        """Trainable parameters: rank x (inputs + outputs) for each matrix (https://arxiv.org/abs/2106.09685)."""
        return sum(each.count * self.rank * (each.inputs + each.outputs) for each in self.at(shape))


@record
class Hardware:
    """The GPUs: how many on a node, how many nodes, bytes of one; `host_bytes`: memory of a node, None if unknown."""

    gpus: int
    gpu_bytes: int
    name: str = ""
    nodes: int = 1
    host_bytes: int | None = None
    capability: tuple[int, int] | None = None

    @property
    def total(self) -> int:
        """GPUs of all nodes."""
        return self.gpus * self.nodes

    @property
    def half(self) -> str:
        """The 16-bit type that its cores compute in: NVIDIA's before Ampere know no bfloat16, of others all do.

        https://docs.nvidia.com/cuda/cuda-c-programming-guide/#arithmetic-instructions
        """
        return "float16" if (self.capability or (8, 0)) < (8, 0) else "bfloat16"


@record
class Buffers:
    """DeepSpeed's buckets, in elements; None: as Transformers fills in `"auto"` (hidden x hidden and so on)."""

    reduce: int | None = None
    prefetch: int | None = None
    max_live: int = 10**9
    contiguous: bool = True
    overlap: bool = False


@record
class Rollout:
    """How completions are generated.

    Args:
        engine: "none" (the trainer's own `generate`), "colocate" or "server".
        share: `gpu_memory_utilization`; `tensor_parallel`, `data_parallel`, `gpus`: of the server (or tp of colocate).
        sleep: the engine gives weights and cache back during the update.
        elsewhere: the server has GPUs of its own.

    """

    engine: str = "none"
    share: float = 0.3
    tensor_parallel: int = 1
    data_parallel: int = 1
    sleep: bool = False
    max_model_length: int | None = None
    elsewhere: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that a server takes from the trainer."""
        return self.tensor_parallel * self.data_parallel if self.engine == "server" and not self.elsewhere else 0


@record
class Setup:
    """A GRPO run, as far as memory depends on it.

    Args:
        weights: precision that the weights are loaded in; `mixed`: "no", "bf16" or "fp16"; `bits`: 4 or 8 when the
            base model is loaded quantized.
        beta: factor of the KL term; above 0 a reference model is kept, unless an adapter can be switched off instead.
        batch: `per_device_train_batch_size`, in completions; `generations`: completions of a prompt.
        prompt_length, completion_length: tokens, the longest that are expected.
        steps_per_generation: None: as many as `accumulation`.
        head: how the trainer computes log-probabilities: "full" logits, "chunked", or Liger's fused loss.

    """

    shape: ModelShape
    hardware: Hardware
    strategy: str = "zero2"
    offload_optimizer: bool = False
    offload_parameters: bool = False
    weights: str = "float32"
    mixed: str = "bf16"
    bits: int | None = None
    lora: Lora | None = None
    beta: float = 0.0
    optimizer: str = "adamw"
    batch: int = 8
    accumulation: int = 1
    generations: int = 8
    prompt_length: int = 512
    completion_length: int = 512
    iterations: int = 1
    steps_per_generation: int | None = None
    checkpointing: bool = True
    attention: str = "sdpa"
    head: str = "chunked"
    rollout: Rollout = Rollout()
    buffers: Buffers = Buffers()
    triton: bool = True

    @property
    def trainers(self) -> int:
        """GPUs that train."""
        return self.hardware.total - self.rollout.gpus

    @property
    def ranks_on_node(self) -> float:
        """Training processes on one node."""
        return self.trainers / self.hardware.nodes

    @property
    def deepspeed(self) -> bool:
        """Whether DeepSpeed keeps the states."""
        return self.strategy.startswith("zero")

    @property
    def stage(self) -> int:
        """ZeRO stage, 0 without DeepSpeed."""
        return int(self.strategy[4:]) if self.deepspeed else 0

    @property
    def shards_weights(self) -> bool:
        """Whether a GPU holds a part of the weights only."""
        return self.strategy in {"zero3", "fsdp"}

    @property
    def compute_width(self) -> float:
        """Bytes of an element in matrix products."""
        return 2 if self.mixed != "no" else WIDTH[self.weights]

    @property
    def stored_width(self) -> float:
        """Bytes of a weight as it lies on the GPU: DeepSpeed casts to 16 bit, FSDP lifts trained weights to 32."""
        if self.deepspeed and self.mixed != "no":
            return 2
        if self.strategy.startswith("fsdp") and self.mixed != "no" and self.lora is None:
            return 4
        return WIDTH[self.weights]

    @property
    def reference(self) -> bool:
        """Whether there is a second model to compare with."""
        return self.beta > 0 and self.lora is None

    @property
    def autocast(self) -> bool:
        """Whether products run in 16 bit over 32-bit weights, through torch's autocast."""
        return self.mixed != "no" and not self.deepspeed and not self.strategy.startswith("fsdp")

    @property
    def casts(self) -> bool:
        """Whether autocast makes 16-bit copies of the weights."""
        return self.autocast and WIDTH[self.weights] == 4

    @property
    def trained(self) -> int:
        """Parameters that get gradients."""
        return self.lora.parameters(self.shape) if self.lora else self.shape.parameters

    @property
    def sequence(self) -> int:
        """Tokens of prompt and completion."""
        return self.prompt_length + self.completion_length

    @property
    def generation_steps(self) -> int:
        """Batches that one generation is cut into."""
        return self.steps_per_generation or self.accumulation
