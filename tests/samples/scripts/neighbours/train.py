from rewards import format_reward, lengths as by_length
import settings
from settings import LEARNING_RATE, make_config
from trl import GRPOTrainer

trainer = GRPOTrainer(
    model=settings.MODEL, reward_funcs=[format_reward, by_length], args=make_config(), train_dataset=None
)
trainer.train()
