"""Build wheels and source distributions of all packages: ``./dev wheel``.

    python deploy/wheel/build_wheel.py [--output dist] [--plain]

The wheel of the core brings its kernels along, compiled; ``--plain`` leaves them out. The commands that
people begin with run on toy data, and compile for the best level of processors that this machine has. What
they compile goes into the wheel. It is used with these versions of Python, numba, llvmlite and NumPy. With
others it is not found, and the first use compiles. A wheel with kernels has numba's tags; the other wheels
and the source distributions are for any machine.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path

from numba.core.codegen import JITCPUCodegen

from shoal.runtime.kernel_cache import SHIPPED, levels_of

ROOT = Path(__file__).resolve().parents[2]
PROJECT_FILES = ("pyproject.toml", "README.md", "LICENSE")
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "tests")
BUILD = """
import sys
from setuptools import build_meta
folder = sys.argv[1]
build_meta.build_wheel(folder)
build_meta.build_sdist(folder)
"""  # with the setuptools of this environment: no network is needed
METHODS = {  # the seventh, reach-locations, needs streets
    "glove": [],
    "kte-hide": [],
    "static": ["--grid", "20km", "--slot", "12h"],  # so few people share no smaller places
    "nwa": [],
    "w4m": [],
    "swap-locations": [],
}
STUDY = """seed = 1
[[runs]]
method = "glove"
k = 2
"""


def commands(folder: Path) -> Iterator[list[str]]:
    """What is run so that its kernels are compiled: the demo, then each command on a smaller city."""
    yield ["demo", "--output", f"{folder}/demo"]
    calls, study = f"{folder}/calls.parquet", folder / "study.toml"
    study.write_text(STUDY)
    yield ["synthesize", calls, "--subjects", "80", "--days", "3"]
    for method, further in METHODS.items():
        release, linkage = f"{folder}/{method}", f"{folder}/{method}.parquet"
        yield [
            "anonymize",
            calls,
            "--method",
            method,
            "--k",
            "2",
            "--output",
            release,
            "--linkage",
            linkage,
            *further,
        ]
        for command in ("verify", "attack", "measure"):
            yield [command, calls, release, "--linkage", linkage]
    yield ["verify", calls, f"{folder}/glove", "--linkage", f"{folder}/glove.parquet", "--streamed"]
    in_blocks = [calls, "--k", "5", "--blocks", "40", "--output", f"{folder}/blocks"]
    yield ["anonymize", *in_blocks, "--linkage", f"{folder}/blocks.parquet"]
    yield ["anonymize", calls, "--refine", "--output", f"{folder}/refined"]
    yield ["assess", calls, "--output", f"{folder}/assess.html"]
    yield ["compare", calls, "--config", str(study), "--output", f"{folder}/study"]
    yield ["granularity", calls, "--tau", "30min"]
    rides = folder / "rides.csv"  # seen in every minute, so that attacks follow them
    rides.write_text(
        "id,t,lat,lon\n"
        + "\n".join(
            f"{rider},{1_700_000_000 + 60 * t},{45 + rider / 500},{5 + t / 200}"
            for rider in range(40)
            for t in range(30)
        )
    )
    yield ["anonymize", str(rides), "--k", "2", "--output", f"{folder}/rides"]


def compile_for(level: str, kept: Path) -> None:
    """Run all of them in processes that compile for this level of processors, and keep that in a folder."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    surroundings["SHOAL_PLAIN_KERNELS"] = "0"  # compile all
    surroundings |= {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(kept)}
    with tempfile.TemporaryDirectory() as folder:
        for words in commands(Path(folder)):
            print(f"{level}: shoal {' '.join(words)}", file=sys.stderr)
            run("-m", "shoal", *words, "--quiet", surroundings=surroundings)


def run(*words: str, surroundings: dict[str, str] | None = None) -> str:
    """What this Python prints with these words."""
    words = (sys.executable, *words)
    return subprocess.run(words, check=True, env=surroundings, stdout=subprocess.PIPE, text=True).stdout


def pack(plain: Path, kernels: Sequence[Path], output: Path) -> Path:
    """The wheel with these files, and with numba's tags."""
    unpacked = plain.parent / "unpacked"
    run("-m", "wheel", "unpack", str(plain), "--dest", str(unpacked))
    (inside,) = unpacked.iterdir()
    shipped = inside / "shoal" / SHIPPED.relative_to(ROOT / "src" / "shoal")
    shipped.mkdir()
    for path in kernels:
        shutil.copyfile(path, shipped / path.name)
    run("-m", "wheel", "pack", str(inside), "--dest-dir", str(output))
    told = (distribution("numba").read_text("WHEEL") or "").splitlines()
    tags = [line.partition(": ")[2].split("-") for line in told if line.startswith("Tag: ")]
    python, abi, platform = (".".join(dict.fromkeys(column)) for column in zip(*tags, strict=True))
    words = ["--python-tag", python, "--abi-tag", abi, "--platform-tag", platform, "--remove"]
    return output / run("-m", "wheel", "tags", *words, str(output / plain.name)).split()[-1]


def packages() -> list[Path]:
    """The folders with a pyproject.toml: the core first, then each package."""
    return [ROOT, *sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))]


def build(project: Path, output: Path) -> None:
    """Build a wheel and a source distribution of one package, from a copy: the sources stay as they are."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "project"
        shutil.copytree(project / "src", copy / "src", ignore=NOT_COPIED)
        for file in PROJECT_FILES:
            shutil.copyfile((project if (project / file).exists() else ROOT) / file, copy / file)
        command = [sys.executable, "-c", BUILD, str(output)]
        process = subprocess.run(command, check=False, cwd=copy, capture_output=True, text=True)
        if process.returncode:
            raise SystemExit(f"{project}: {process.stderr}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Build all, and print where the files are."""
    parser = argparse.ArgumentParser(description="Build wheels and source distributions of all packages.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--plain", action="store_true", help="without compiled kernels")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = folder / "built"
        built.mkdir()
        for project in packages():
            build(project, built)
        if not options.plain:
            _, level, _ = next(levels_of(JITCPUCodegen("here").magic_tuple()))
            compile_for(level, folder / "kernels")
            (core,) = built.glob("shoal-*.whl")
            pack(core, sorted((folder / "kernels" / "shoal").glob("*.kernel")), options.output)
            core.unlink()
        for path in built.glob("shoal*"):
            shutil.move(path, options.output / path.name)
    for path in sorted(options.output.iterdir()):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
