"""What lies beside the movement in folders and archives: blank files, other archives, GeoLife's labels."""

import base64
import gzip
import io
import json
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from foreign_writers import excel
from shoal.errors import InputError
from shoal.io.reading import read

ROWS = "uid,t,lat,lon\nann,2024-05-01T12:00:00Z,48.85,2.35\nbob,2024-05-01T12:10:00Z,48.86,2.36\n"
PREAMBLE = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
FIX = "39.984702,116.318417,0,492,39744.12,2008-10-23,02:53:04\n"
LABELS = "Start Time\tEnd Time\tTransportation Mode\n2007/06/26 11:32:29\t2007/06/26 11:40:29\tbus\n"
GEOLIFE = {
    "000/Trajectory/20081023025304.plt": PREAMBLE + FIX,
    "010/labels.txt": LABELS,
    "010/Trajectory/20081023025304.plt": PREAMBLE + FIX,
}


def archive(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def folder(path: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(content)
    return path


@pytest.mark.parametrize("first", ["a", "z"])
def test_texts_of_zero_bytes_in_an_archive_are_files_without_rows(first: str, tmp_path: Path) -> None:
    """As in a folder; the note counts files of the archive, and not the archive."""
    got = read(archive(tmp_path / "calls.zip", {"m.csv": ROWS, f"{first}.csv": ""}))
    assert got.n_subjects == 2
    assert "1 of 2 files of calls.zip holds no rows" in got.intake.notes
    with pytest.raises(InputError, match=r"a\.csv is empty"):
        read(archive(tmp_path / "calls.zip", {"a.csv": "", "b.csv": ""}))


@pytest.mark.parametrize("blank", ["\n\n", "\r\n", "  \n\t\n"])
def test_blank_lines_among_other_files_are_files_without_rows(blank: str, tmp_path: Path) -> None:
    got = read(folder(tmp_path, {"a.csv": blank, "b.csv": ROWS}))
    assert got.n_subjects == 2
    assert "1 of 2 files holds no rows" in got.intake.notes


def test_an_archive_within_an_archive_is_refused(tmp_path: Path) -> None:
    """It would be left out, and nobody would know; in a folder it is read."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as packed:
        packed.writestr("more.csv", ROWS.replace("ann", "cyd"))
    both: dict[str, str | bytes] = {"a.csv": ROWS, "in.zip": inner.getvalue()}
    alone: dict[str, str | bytes] = {"in.ZIP": inner.getvalue()}
    for files in (both, alone):
        with pytest.raises(InputError, match=r"calls\.zip holds another archive, in\.(zip|ZIP), .* unpack"):
            read(archive(tmp_path / "calls.zip", files))
    hidden: dict[str, str | bytes] = {"a.csv": ROWS, "__MACOSX/in.zip": b"", ".in.zip": b""}
    assert read(archive(tmp_path / "calls.zip", hidden)).n_subjects == 2
    place = folder(tmp_path / "calls", {"a.csv": ROWS})
    (place / "in.zip").write_bytes(inner.getvalue())
    assert read(place).n_subjects == 3


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_in_an_archive_are_refused(tmp_path: Path) -> None:
    """The format allows it, and whoever opens one gets the last."""
    with zipfile.ZipFile(tmp_path / "calls.zip", "w") as packed:
        packed.writestr("a.csv", ROWS)
        packed.writestr("a.csv", ROWS.replace("ann", "cyd"))
    with pytest.raises(InputError, match=r"calls\.zip holds two files of one name, a\.csv"):
        read(tmp_path / "calls.zip")


def test_points_among_lines_keep_their_own_times(tmp_path: Path) -> None:
    point = {"type": "Point", "coordinates": [2.35, 48.85]}
    line = {"type": "LineString", "coordinates": [[2.36, 48.86], [2.37, 48.87]]}
    times = ["2024-05-01T12:10:00Z", "2024-05-01T12:20:00Z"]
    features = [
        {"type": "Feature", "geometry": point, "properties": {"id": "ann", "time": "2024-05-01T12:00:00Z"}},
        {"type": "Feature", "geometry": line, "properties": {"id": "ann", "times": times, "time": "never"}},
    ]
    (tmp_path / "a.geojsonl").write_text("\n".join(map(json.dumps, features)))
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    for name in ("a.geojsonl", "a.geojson"):
        got = read(tmp_path / name, snap=False)
        assert (got.t - got.t[0]).tolist() == [0, 600, 1200]
        assert not got.intake.dropped


def test_the_labels_of_geolife_are_no_movement(tmp_path: Path) -> None:
    """The data set as it is handed out: a third of its people have labels of how they traveled."""
    for source in (folder(tmp_path / "Data", GEOLIFE), archive(tmp_path / "Geolife.zip", dict(GEOLIFE))):
        got = read(source)
        assert list(got.ids) == ["000", "010"]
        assert not got.intake.dropped
    elsewhere = folder(tmp_path / "calls", {"a.csv": ROWS, "labels.txt": LABELS})
    with pytest.raises(InputError, match=r"no column 'uid' in labels\.txt"):
        read(elsewhere)


def test_serial_days_that_a_workbook_counts_from_1904_are_refused(tmp_path: Path) -> None:
    """The number alone says another date, four years and a day too early."""
    book = excel(tmp_path)
    with zipfile.ZipFile(book) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    sheet, start = "xl/worksheets/sheet1.xml", "xl/workbook.xml"
    from_1904 = parts[start].replace(b"<sheets>", b'<workbookPr date1904="1"/><sheets>')
    styled = parts[sheet].replace(b"45413.5", b"43951.5")
    plain = styled.replace(b' s="1"', b"")
    other = archive(tmp_path / "styled.xlsx", {**parts, start: from_1904, sheet: styled})
    assert read(other).t.tolist() == read(book).t.tolist()
    other = archive(tmp_path / "plain.xlsx", {**parts, start: from_1904, sheet: plain})
    with pytest.raises(InputError, match=r"plain\.xlsx counts its days from 1904"):
        read(other, time_unit="serial-days")
    other = archive(tmp_path / "of 1900.xlsx", {**parts, sheet: parts[sheet].replace(b' s="1"', b"")})
    assert read(other, time_unit="serial-days").t.tolist() == read(book).t.tolist()


# a workbook of Excel 97 that counts from 1904: id, t, lat, lon of two people, the times as bare days
OF_1904 = (
    "c-"
    "rk)O=uHA6#iy6X?|$aq^3eElu)qMwwLO~OS@Ij9@J0;QAE(x<WL$C3GG2IR%?!e;K`p$p%*VzFaA&kJ?TNH=s^&KMDZj"
    "df`W%O>w9l^+qCA;fEJbcmU%PtX6BohnKv&x`*I;xnz`Fv#u^O5M8yuFp-QJHg}h1>)Nb2c^ztAjTjQTXC`cRG;KzK^i"
    "vaH-"
    "?{^sn?)aXP1m06Rfip<vbD6{jVvpF6Qf$KjNrjuFiJ(oaY7u!_<R+1~rRO7&L!!AXa)A1l)Nw3W$(~)V7aub^!Hf}+_h"
    "rmm>D`Z3JZCRHe?>Wc{n%X?OJ)Dgh7MmNW<mQloXKShscZ>x+Q3<Sw-dlO@1#CSX#K|O6-fVMwLVZof7S2-"
    "Q?O5ogBK~dJ~N#SPA#Ha&LSuB%&|1>`~)>-"
    "QzG*@Qcm`>*b(NiEXO#y>KHePdpD9yqgl!^aq=hy>cv}MUmYABu}+F+N<z02;J30(uyKJ$(BO!)h*{v49vRUq@}jVAk#"
    "f7pIJqX}T_de-Vc)d$xg@P!G|x`KYpc7eyp77mPlq0K6hBzosXRAaJ{O;RW6hwG)+9~i`I$za>QmRRF&<i8uH0boPGs9"
    "Jfgxx_UE6K<U#uBR2um?0(y8(4sO6gBu9Z_Wsb;!dss@)5E?ymz)=LT35yI!mk3)~iJ|%qf2e{V_llhp*sKI0iliy`Bm"
    "YKe|OolM+Pp&Wx8ZEfT!zk>nAPfx+4Gj$q4Gj&A8c@#tLSAqA1=jCg9s=%noh3>Y{h8#y#bM;>nV^g5UgRh*;A~y~vl)"
    "KnajA8V@xB)_j?(M}jAK;n7_ZxZ=}M%kf6uxHMt|QCs(1cMJ$C-#`F{d#7tgZ"
)  # fmt: skip


def test_serial_days_that_an_xls_counts_from_1904_are_refused(tmp_path: Path) -> None:
    content = zlib.decompress(base64.b85decode(OF_1904))
    says = content.find(bytes.fromhex("220002000100"))
    of_1900 = content[: says + 4] + b"\0" + content[says + 5 :]
    for name, book in (("of 1904.xls", content), ("of 1900.xls", of_1900)):
        (tmp_path / name).write_bytes(book)
    with pytest.raises(InputError, match=r"of 1904\.xls counts its days from 1904"):
        read(tmp_path / "of 1904.xls", time_unit="serial-days")
    got = read(tmp_path / "of 1900.xls", time_unit="serial-days", snap=False)
    assert got.ids == ("u1", "u2")
    assert np.diff(got.t).round().tolist() == [5400]


@pytest.mark.parametrize(
    ("name", "content"), [("a.fit", b""), ("a.fit.gz", b""), ("a.fit.gz", gzip.compress(b""))]
)
def test_a_watch_s_file_without_bytes_was_cut(name: str, content: bytes, tmp_path: Path) -> None:
    pytest.importorskip("fitdecode", reason="fitdecode is not installed")
    (tmp_path / name).write_bytes(content)
    (tmp_path / "calls.csv").write_text(ROWS)
    with pytest.raises(InputError, match=r"a\.fit(\.gz)? is (empty|not a whole FIT file)"):
        read(tmp_path)


def test_utf_16_without_a_mark_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_bytes(ROWS.encode("utf-16-le"))
    with pytest.raises(InputError, match=r"calls\.csv is not UTF-8 text"):
        read(tmp_path / "calls.csv")
