"""The configuration files, installed as `nscma_torch.configs`."""
