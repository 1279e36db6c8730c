"""`python -m commonboard.cli`, where the command itself is not on the path."""

from commonboard.cli import app

if __name__ == "__main__":
    app(prog_name="commonboard")
