"""Read exports from other memory systems and chat services as messages: mem0, MemPalace, ChatGPT and Claude."""
