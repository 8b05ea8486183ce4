"""Layer 2: working memory, and the loop that decides when to query the long-term memory (NSCMA section 3.3)."""
