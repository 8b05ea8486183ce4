"""Proxy that adds a memory to OpenAI's chat completions, in front of vLLM, llama.cpp or Ollama. See docs/proxy.md."""
