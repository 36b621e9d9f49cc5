import argparse

from trl import GRPOConfig, GRPOTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--model", type=str, required=True)
parser.add_argument("--lr", type=float, default=1e-6)
parser.add_argument("-g", "--generations", type=int, default=8)
parser.add_argument("--vllm", action="store_true")
parser.add_argument("--no-ckpt", dest="checkpointing", action="store_false")
parser.add_argument("--out-dir", default="out")
parser.add_argument("--steps", type=lambda text: int(text) * 2, default=5)
args = parser.parse_args()

config = GRPOConfig(
    output_dir=args.out_dir,
    learning_rate=args.lr,
    num_generations=args.generations,
    use_vllm=args.vllm,
    gradient_checkpointing=args.checkpointing,
    max_steps=args.steps,
    beta=args.beta,
)
GRPOTrainer(model=args.model, reward_funcs=lambda completions, **kw: [0.0] * len(completions), args=config).train()
