"""The command line."""

import typer

from shardflake.cli.demo import demo

app = typer.Typer(no_args_is_help=True)
app.callback()(lambda: None)
app.command()(demo)


def main() -> None:
    """Run the command line."""
    app()
