from . import trainer_callback

DEFAULT_CALLBACKS = [trainer_callback.TrainerCallback]


class _Bag:
    def __init__(self, **values):
        vars(self).update(values)


class Trainer:
    """Calls its callbacks as the real one does; it trains nothing."""

    def __init__(self):
        self.callbacks = [each() if isinstance(each, type) else each for each in DEFAULT_CALLBACKS]
        self.callback_handler = self
        self.accelerator = _Bag()

    def compute_loss(self, model, inputs):
        """Never called here."""

    def training_step(self, model, inputs):
        """Never called here."""

    def _event(self, event, **values):
        for each in self.callbacks:
            getattr(each, event, lambda *_, **__: None)(self.args, self.state, self.control, **values)

    def train(self, norm):
        """Three steps, of which the second has the given gradient norm."""
        self.args = _Bag(process_index=0, world_size=1)
        self.state = _Bag(global_step=0)
        self.control = _Bag(should_log=True, should_save=False, should_training_stop=False)
        self._event("on_train_begin")
        for step in (1, 2, 3):
            self._event("on_step_begin")
            self.state.global_step = step
            self._event("on_step_end")
            self._event("on_log", logs={"loss": 0.5, "grad_norm": norm if step == 2 else 1.0})
        self._event("on_train_end")
