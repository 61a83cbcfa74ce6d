"""The files in ``deploy/collect`` as this machine can start them.

A service's command line, and the proxy's configuration, with other addresses and folders.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[4] / "deploy" / "collect"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def compose() -> dict[str, Any]:
    """The compose file, with what its services share filled in."""
    found: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    return found


def set_in(value: Any, environment: Mapping[str, str]) -> Any:
    """The same with variables replaced, as compose does it; without a value there must be a default."""
    if isinstance(value, dict):
        return {name: set_in(one, environment) for name, one in value.items()}
    if isinstance(value, list):
        return [set_in(one, environment) for one in value]
    if not isinstance(value, str):
        return value

    def fill(found: re.Match[str]) -> str:
        name, how, default = found[1], found[2], found[3]
        if environment.get(name) or how is None:
            return environment.get(name, "")
        assert how == ":-", f"{name}: {default}"
        return str(default)

    return re.sub(r"\$\{(\w+)(?:(:[?-])([^}]*))?\}", fill, value)


def command_of(
    service: str, environment: Mapping[str, str], here: Mapping[str, str], services: Any = None
) -> list[str]:
    """The arguments of ``shoal`` in a service, with what stands for its containers' addresses and folders."""
    arguments = set_in((services or compose()["services"])[service]["command"], environment)
    for old, new in here.items():
        arguments = [one.replace(old, new) for one in arguments]
    return [str(one) for one in arguments]


def write_certificate(folder: Path) -> None:
    """cert.pem and key.pem for this machine."""
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)


def proxy(folder: Path, port: int, collectors: Mapping[str, str]) -> subprocess.Popen[str]:
    """The proxy with its own configuration, in front of other addresses, at another port."""
    assert NGINX is not None
    text = (FOLDER / "nginx.conf").read_text()
    here = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "/etc/nginx/tls": str(folder),
        "/tmp/nginx.pid": str(folder / "nginx.pid"),
        **collectors,
    }
    for old, new in here.items():
        assert old in text
        text = text.replace(old, new)
    for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"):
        text = text.replace("http {", f"http {{\n    {what}_temp_path {folder / what};", 1)
    file = folder / "nginx.conf"
    file.write_text(text)
    started = [NGINX, "-c", str(file), "-p", str(folder), "-e", str(folder / "error.log")]
    subprocess.run([*started, "-t"], check=True, capture_output=True)
    return subprocess.Popen([*started, "-g", "daemon off;"], text=True)


def metrics_of_dashboard() -> set[str]:
    """The names of all figures that the dashboard shows."""
    panels = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
    shown = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    return set(re.findall(r"shoal_\w+", shown))
