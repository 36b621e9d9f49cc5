"""Keys that DeepSpeed's strict sections know in any release from 0.9.0 to 0.19.5.

Read from https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/zero/config.py, offload_config.py and
precision_config.py at every tag; those sections refuse any other key.
"""

from __future__ import annotations

NEWEST_READ = "<=0.19.8"

_STAGE_3 = frozenset({
    "allgather_sequential", "gather_16bit_weights_on_model_save", "max_live_parameters", "max_reuse_distance",
    "model_persistence_threshold", "module_granularity_threshold", "param_persistence_threshold",
    "prefetch_bucket_size", "use_all_reduce_for_fetch_params",
})  # fmt: skip
_ZERO = frozenset({
    "allgather_bucket_size", "allgather_partitions", "contiguous_gradients", "cpu_offload", "cpu_offload_param",
    "cpu_offload_use_pin_memory", "elastic_checkpoint", "enable_sanity_checks", "ignore_unused_parameters",
    "leaf_module", "legacy_stage1", "load_from_fp32_weights", "log_trace_cache_warnings",
    "memory_efficient_linear", "mics_hierarchical_params_gather", "mics_shard_size", "offload_optimizer",
    "offload_param", "overlap_comm", "override_module_apply", "parameter_alignment",
    "pipeline_loading_checkpoint", "reduce_bucket_size", "reduce_scatter", "round_robin_gradients",
    "save_muon_momentum_buffer_in_memory", "stage", "stage3_gather_fp16_weights_on_model_save", "sub_group_size",
    "use_multi_rank_bucket_allreduce", "zenflow", "zero_hpz_partition_size", "zero_quantized_gradients",
    "zero_quantized_nontrainable_weights", "zero_quantized_weights", "zeropp_loco_param",
})  # fmt: skip
_PARAM = frozenset({"buffer_count", "buffer_size", "device", "max_in_cpu", "nvme_path", "pin_memory"})
_OPTIMIZER = frozenset({
    "buffer_count", "cpuadam_cores_perc", "device", "fast_init", "nvme_path", "pin_memory", "pipeline_read",
    "pipeline_write", "ratio", "super_offload",
})  # fmt: skip
_FP16 = frozenset({
    "auto_cast", "consecutive_hysteresis", "enabled", "fp16_master_weights_and_grads", "hysteresis",
    "initial_scale_power", "loss_scale", "loss_scale_window", "min_loss_scale",
})  # fmt: skip
_BF16 = frozenset({
    "bf16_master_weights_and_grads", "bf16_optimizer_states", "check_grad_overflow", "enabled",
    "immediate_grad_update",
})  # fmt: skip

#: section -> keys that it takes
KEYS = {
    "zero_optimization": _ZERO | _STAGE_3 | {f"stage3_{name}" for name in _STAGE_3},
    "zero_optimization.offload_param": _PARAM,
    "zero_optimization.offload_optimizer": _OPTIMIZER,
    "fp16": _FP16,
    "bf16": _BF16,
}

#: sections and keys at the top, which DeepSpeed looks up by name and does not check for strangers
TOP = frozenset({
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping",
    "zero_optimization", "zero_allow_untested_optimizer", "zero_force_ds_cpu_optimizer", "optimizer", "scheduler",
    "fp16", "bf16", "bfloat16", "amp", "activation_checkpointing", "steps_per_print", "wall_clock_breakdown",
    "communication_data_type", "prescale_gradients", "gradient_predivide_factor", "checkpoint", "data_types",
    "flops_profiler", "comms_logger", "tensorboard", "wandb", "csv_monitor", "comet", "elasticity", "autotuning",
    "aio", "hybrid_engine", "compile", "tensor_parallel", "sequence_parallel_size", "torch_autocast",
    "data_efficiency", "curriculum_learning", "compression_training", "sparse_attention", "pipeline",
    "sparse_gradients", "memory_breakdown", "dump_state", "monitor_config", "nebula", "expert_parallel",
    "gradient_allreduce_op", "managed_gradient_accumulation", "seq_parallel_communication_data_type",
    "zero_hpz_partition_size", "disable_allgather", "dataloader_drop_last", "vocabulary_size", "weight_quantization",
    "progressive_layer_drop", "eigenvalue", "quantize_training", "graph_harvesting", "timers", "log_level",
    "use_data_before_expert_parallelism", "datastates", "domino", "zero_quantized_weights",
})  # fmt: skip
