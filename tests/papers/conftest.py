"""The fixture `told`: a memory whose messages say what the tests hand in."""

from __future__ import annotations

from tests.helpers.told import told as told
