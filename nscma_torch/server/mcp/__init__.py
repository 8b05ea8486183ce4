"""The memory over the Model Context Protocol: tools and resources, on stdio and over streamable HTTP."""
