"""The list of files of an export, with its columns: for the writer and for the verifier."""

from pathlib import Path
from typing import Any, Final

from shoal.release_folder.files import require_plain_file
from shoal.runtime.files import sha256_of
from shoal_tables.definition.manifest import EXPORTED, MANIFEST_FILE, TABLE_FILE, TableManifest

_MEANING: Final = {
    "count": "the bounded count with its noise",
    "estimate": "the number to work with",
    "low": "lower end of the interval that holds the bounded count, scaled, in 95 % of the cells",
    "high": "its upper end",
    "shown": "the estimate to whole ones; empty where it is too uncertain to show",
}


def package_of(folder: Path, manifest: TableManifest, form: str) -> dict[str, Any]:
    """The files of an export and the columns of a CSV file (https://specs.frictionlessdata.io/data-package/)."""
    unit = {"flows": "trips a day", "homes": "people"}.get(manifest.table, "people a day")
    fields = [
        *({"name": name, "type": "string"} for name in manifest.columns),
        *(
            {
                "name": name,
                "type": "integer" if name == "shown" else "number",
                "description": meaning,
                "unit": unit,
            }
            for name, meaning in _MEANING.items()
        ),
    ]
    described = {"profile": "tabular-data-resource", "encoding": "utf-8", "schema": {"fields": fields}}
    resources = []
    for name in sorted({MANIFEST_FILE, EXPORTED[form], *manifest.files} - {TABLE_FILE}):
        path = folder / name
        require_plain_file(path)
        resource = {"name": path.stem.lower(), "path": name, "hash": f"sha256:{sha256_of(path)}"}
        resources.append(resource | (described if name == EXPORTED["csv"] else {}))
    return {
        "profile": "data-package",
        "name": f"table-of-{manifest.table}",
        "description": "manifest.json says what is promised; shoal verify checks it.",
        "format": form,
        "resources": resources,
    }
