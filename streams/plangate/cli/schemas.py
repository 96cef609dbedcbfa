"""``plangate schemas DIR``: write the JSON Schemas and the AsyncAPI document."""

from __future__ import annotations

from pathlib import Path

import click

from ..wire.schemas import all_files
from ..wire.tables import with_table


@click.command("schemas")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--table",
    "documents",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A Markdown file with the two decision markers, whose table is brought up to date.",
)
def schemas_command(folder: Path, documents: tuple[Path, ...]) -> None:
    """Write a schema of every event, record and the policy, and an AsyncAPI document, below DIR."""
    files = all_files()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in documents:
        try:
            path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
        except ValueError:
            raise click.ClickException(f"{path}: no decision markers") from None
    click.echo(f"{len(files)} files written to {folder}")
