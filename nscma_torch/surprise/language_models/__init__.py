"""Surprise measured by a causal language model in transformers or vLLM."""
