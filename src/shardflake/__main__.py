"""``python -m shardflake``: the command line, where no script was installed."""

from shardflake.cli import main

if __name__ == "__main__":
    main()
