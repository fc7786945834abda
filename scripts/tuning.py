"""What scripts/measure and scripts/check-tuning share: how a build is told another value of a constant."""

import os

# Builds with other values lie here, so that the usual ones stay as they are.
FOLDER = "target/measure"
CARGO = os.environ.get("CARGO", "cargo")


def enter_root():
    """Makes the root of the workspace the current folder."""
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def as_root():
    """What stands in front of a command that needs root."""
    return [] if os.geteuid() == 0 else ["sudo", "-E", "env", f"PATH={os.environ['PATH']}"]


def environment(variable=None, value=None):
    """The environment of a build with another value of one constant, or with all defaults."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TASUKI_TUNING_")}
    told = {} if variable is None else {variable: str(value)}
    return dict(kept, CARGO_TARGET_DIR=FOLDER, **told)
