"""What scripts/measure, scripts/measure-all and scripts/check-tuning share: builds with another value of a
constant, and what was found before."""

import json
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


def read_found(path):
    """What an earlier run has found, by the name of the constant."""
    try:
        with open(path, encoding="utf-8") as file:
            return {one["name"]: one for one in json.load(file)}
    except FileNotFoundError:
        return {}


def write_found(path, found):
    """Keeps what was found; a run that is killed meanwhile leaves the file as it was."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump(list(found.values()), file, indent=1)
    os.replace(f"{path}.new", path)
