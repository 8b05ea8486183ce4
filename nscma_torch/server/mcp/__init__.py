"""Model Context Protocol server for the memory: tools and resources, over stdio and streamable HTTP."""
