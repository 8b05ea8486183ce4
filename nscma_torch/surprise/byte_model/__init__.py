"""The bundled byte-level model that measures surprise."""
