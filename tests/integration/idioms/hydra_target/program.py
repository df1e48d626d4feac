"""Hydra makes the trainer and the model that its configuration names."""

# expect loss = loss (\S+)
# expect gap = gap (\S+)

import hydra


@hydra.main(config_path='configs', config_name='train')
def main(cfg):
    model = hydra.utils.instantiate(cfg.model)
    trainer = hydra.utils.instantiate(cfg.trainer)
    trainer.fit(model)


main()
