"""The wheel with compiled kernels; what it is filled with takes minutes, and is left to ``./dev wheel``."""

import subprocess
import sys
import zipfile
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from build_wheel import METHODS as WARMED
from build_wheel import commands, pack
from shoal.cli.main import shoal
from shoal.methods import METHODS
from shoal.runtime import kernel_cache

TOLD = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def test_kernels_lie_where_they_are_looked_for_and_pip_installs_it_here(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    told = inside / "shoal-0.1.0.dist-info"
    told.mkdir(parents=True)
    (told / "WHEEL").write_text(TOLD)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: shoal\nVersion: 0.1.0\n")
    here = Path(kernel_cache.__file__)
    (inside / "shoal" / "runtime").mkdir(parents=True)
    (inside / "shoal" / "runtime" / here.name).touch()
    (tmp_path / "plain").mkdir()
    subprocess.run(
        [sys.executable, "-m", "wheel", "pack", str(inside), "--dest-dir", str(tmp_path / "plain")],
        check=True,
    )
    kernel = tmp_path / "one-0123.kernel"
    kernel.write_bytes(b"compiled")
    made = pack(tmp_path / "plain" / "shoal-0.1.0-py3-none-any.whl", [kernel], tmp_path)
    assert list(tmp_path.glob("*.whl")) == [made]
    *_, tags = parse_wheel_filename(made.name)
    assert tags & set(sys_tags())
    assert {tag.interpreter for tag in tags} == {f"cp{sys.version_info[0]}{sys.version_info[1]}"}
    with zipfile.ZipFile(made) as files:
        shipped = kernel_cache.SHIPPED.relative_to(here.parents[2])
        assert files.read(f"{shipped}/{kernel.name}") == b"compiled"


def test_every_method_is_compiled_but_that_on_streets(tmp_path: Path) -> None:
    assert {*WARMED, "reach-locations"} == set(METHODS)
    unknown = [
        (words[0], word)
        for words in commands(tmp_path)
        for word in words[1:]
        if word.startswith("--") and not any(word in one.opts for one in shoal.commands[words[0]].params)
    ]
    assert unknown == []
    asked = {words[0] for words in commands(tmp_path)}
    assert {"demo", "anonymize", "assess", "attack", "measure", "verify", "compare"} <= asked
