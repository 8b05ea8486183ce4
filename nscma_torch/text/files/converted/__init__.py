"""Documents of other programs as messages: each module reads one family of formats."""
