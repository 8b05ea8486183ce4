"""Import another program's export, for `nscma import --from`."""

from __future__ import annotations

from pathlib import Path

from nscma_torch.cli.json_objects import added_counts, added_object
from nscma_torch.cli.messages import flush
from nscma_torch.cli.output import opened, plain, print_json, say, warn
from nscma_torch.cli.progress import progress
from nscma_torch.compat.exports.importing import Export, import_export
from nscma_torch.core.database.store_path import name_of
from nscma_torch.core.records import Added, Scope

_MOST_LEFT = 20  # warnings that are printed


def store_export(
    kind: str,
    exported: Export,
    left: list[str],
    scope: Scope,
    *,
    infer: bool,
    store: str,
    config: Path | None,
    json: bool,
) -> None:
    """Store a checked export, and print what was stored and left out."""
    for told in left[:_MOST_LEFT]:
        warn(f"warning: {told}")
    if len(left) > _MOST_LEFT:
        warn(f"warning: and {len(left) - _MOST_LEFT:,} more; --json lists all")
    results: list[Added] = []
    with opened(store, config, must_exist=False) as memory:
        with progress("importing", len(exported)) as advance:
            for batch in import_export(memory, exported, scope, infer=infer):
                results += batch
                advance(len(results))
        flush(memory)
    if json:
        print_json({**added_object(results), "warnings": left})
        return
    counts = added_counts(results)
    known = f", {counts['known']} known already" if counts["known"] else ""
    noun = "message" if counts["added"] == 1 else "messages"
    decided = f"{counts['written']} written, {counts['deferred']} deferred"
    say(f"imported {counts['added']} {noun} of {kind} into {plain(name_of(store))}: {decided}{known}")
