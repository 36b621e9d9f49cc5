"""What a model is made of: its matrices, and how many of each."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.base.record import record, replace

#: key of a sentence in words.py, and what to fill in
Assumption = tuple[str, Mapping[str, str]]


@record
class Matrix:
    """A weight matrix, `count` times in the model.

    Args:
        name: last part of the module's name, which LoRA targets (`q_proj`).
        inputs, outputs: its sides; `bias`: whether a vector of `outputs` is added.
        expert: it lies in a stack of experts, of which a token sees a few; LoRA's `all-linear` leaves it alone.
        vision: it belongs to the image tower.

    """

    name: str
    inputs: int
    outputs: int
    count: int = 1
    bias: bool = False
    expert: bool = False
    vision: bool = False

    @property
    def parameters(self) -> int:
        """Elements of all of them, biases included."""
        return self.count * self.outputs * (self.inputs + self.bias)


@record
class ModelShape:
    """The numbers of a model that its memory depends on.

    Args:
        name: as the user wrote it; `family` the `model_type`.
        matrices: linear layers, without embeddings and output layer.
        vectors: all other parameters of the language part (norms, routers' biases, sinks).
        other: further parameters of an image tower that are no matrices.
        tied: the output layer is the embedding.
        query, key_value: width of all query heads, and of all key (or value) heads, for one token.
        intermediate: width of the feed-forward layer that one token passes, experts added up.
        cache_elements: elements that the KV cache keeps for one token, over all layers.
        most_experts: experts that a token sees in a layer, 0 in a dense model.
        largest_layer: parameters of the largest layer, which ZeRO-3 and FSDP gather at once.
        exact: the count follows the architecture's own code; else `assumed` says what was taken for it.

    """

    name: str
    family: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    query: int
    key_value: int
    intermediate: int
    matrices: tuple[Matrix, ...]
    vectors: int
    cache_elements: int
    largest_layer: int
    tied: bool = False
    other: int = 0
    most_experts: int = 0
    norms: int = 2
    exact: bool = True
    assumed: tuple[Assumption, ...] = ()

    @property
    def embedding(self) -> int:
        """Parameters of the input embedding."""
        return self.vocabulary * self.hidden

    @property
    def head(self) -> int:
        """Parameters of the output layer that are not the embedding's."""
        return 0 if self.tied else self.embedding

    @property
    def linear(self) -> int:
        """Parameters of all matrices but embedding and output layer."""
        return sum(each.parameters for each in self.matrices)

    @property
    def parameters(self) -> int:
        """All parameters, as `model.parameters()` counts them: tied ones once."""
        return self.embedding + self.head + self.linear + self.vectors + self.other

    @property
    def active(self) -> int:
        """Parameters that one token passes: of the experts only those it is sent to."""
        experts = sum(each.parameters for each in self.matrices if each.expert)
        total = sum(each.count for each in self.matrices if each.expert and each.name == "gate_up_proj")
        seen = self.most_experts * self.expert_layers
        return self.parameters - (experts - experts * seen // total if total else 0)

    @property
    def expert_layers(self) -> int:
        """Layers that have a router."""
        return sum(each.count for each in self.matrices if each.name == "router")

    def renamed(self, name: str, assumption: Assumption) -> ModelShape:
        """The same shape under the name of what it stands for."""
        return replace(self, name=name, exact=False, assumed=(*self.assumed, assumption))

    def scaled(self, parameters: int, name: str, assumption: Assumption) -> ModelShape:
        """The same shape with another total: the difference lies nowhere in particular."""
        return replace(self.renamed(name, assumption), other=self.other + parameters - self.parameters)
