"""The `bulk add` command, which stores many users' messages."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from typing import Annotated

import typer

from nscma_torch.cli import options as o
from nscma_torch.cli.output import plain, print_json, say, warn
from nscma_torch.cli.progress import progress
from nscma_torch.core.database.store_path import name_of

bulk = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Add many users' messages at once, from JSON lines or Parquet.",
)
o.app.add_typer(bulk, name="bulk")


@bulk.callback()
def _group() -> None:
    """Keep `add` as a subcommand, although it is the only command in the group."""


@bulk.command()
def add(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH…", help="Files (.jsonl, .ndjson, .parquet), folders or patterns.")
    ],
    *,
    user: Annotated[str | None, typer.Option("--user", help="Default user_id.", metavar="USER")] = None,
    infer: Annotated[bool, typer.Option(help="Extract facts from messages that pass the gate.")] = True,
    read: Annotated[
        bool, typer.Option(help="Run the background jobs; otherwise they stay queued for a worker.")
    ] = True,
    ray: Annotated[
        bool, typer.Option("--ray", help="Compute in Ray Data actors; starts Ray if it is not running.")
    ] = False,
    address: Annotated[
        str | None, typer.Option("--address", help="Address of a running Ray: auto, or HOST:PORT.", metavar="ADDRESS")
    ] = None,
    actors: Annotated[
        int | None,
        typer.Option(
            "--actors", help="Number of concurrent actors; default: one per CPU, or as many as the GPUs allow."
        ),
    ] = None,
    gpus: Annotated[float, typer.Option("--gpus", help="Fraction of a GPU per actor.")] = 0.0,
    window: Annotated[int, typer.Option("--window", help="Number of rows planned and computed in one run.")] = 65_536,
    store: o.Store = o.STORE,
    config: o.Config = None,
    json: o.Json = False,
) -> None:
    """Store rows with `user_id`, `role`, `content` and optional fields. If interrupted, run it again to continue."""
    if not ray and (address is not None or actors is not None or gpus):
        raise typer.BadParameter("--address, --actors and --gpus need --ray")
    from nscma_torch.features.bulk.actors import RayActors
    from nscma_torch.features.bulk.adding import Progress, bulk_add

    with (
        progress("checking") as checked,
        ExitStack() as later,
        RayActors(address=address, actors=actors, gpus=gpus) if ray else nullcontext() as pool,
    ):
        bars: dict[str, object] = {}

        def shown(title: str, done: int, total: int) -> None:
            if title not in bars:
                later.close()
                bars[title] = later.enter_context(progress(title))
            bars[title](done, total)  # type: ignore[operator]

        report = bulk_add(
            store,
            paths,
            config=config,
            user_id=user,
            infer=infer,
            read=read,
            actors=pool,
            window=window,
            progress=Progress(
                lambda rows: checked(rows),
                lambda done, total: shown("remembering", done, total),
                lambda done, total: shown("reading", done, total),
            ),
        )
    if report.jobs_failed or (read and report.jobs_queued):
        warn(f"warning: {report.jobs_failed} jobs failed and {report.jobs_queued} wait; `nscma retry` runs them again")
    if json:
        print_json(report)
        return
    known = f", {report.known} known already" if report.known else ""
    decided = f"{report.written} written, {report.deferred} deferred"
    of = f"{report.users} {'user' if report.users == 1 else 'users'}"
    say(f"added {report.added} messages of {of} to {plain(name_of(store))}: {decided}{known}")
    say(f"{report.seconds:.0f} s, {report.rows / max(report.seconds, 1e-3):.1f} rows/s, {report.jobs} jobs run")
