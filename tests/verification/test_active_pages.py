"""Pages that run, send or load something are refused, whatever the digest in the manifest says."""

import json
from pathlib import Path

import pytest

import shoal
from shoal.runtime.files import sha256_of
from shoal.verification.leaks.active_pages import is_active

ACTIVE = [
    "<script>fetch('//a.example')</script>",
    "<SCRIPT SRC=//a.example></SCRIPT>",
    "<svg><script>1</script></svg>",
    "<img src=x onerror=alert(1)>",
    "<p onclick='1'>",
    "<p/onmouseover=1>",
    "<img src=https://a.example/x.png>",
    "<img src=' //a.example/x.png'>",
    "<a href='https://a.example'>terms</a>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='&#106;avascript:1'>x</a>",
    "<a href=other.html>x</a>",
    "<link rel=stylesheet href=//a.example/a.css>",
    "<meta http-equiv=refresh content='0;url=//a.example'>",
    "<meta http-equiv=Content-Security-Policy http-equiv=refresh content=1>",
    "<base href=//a.example>",
    "<iframe srcdoc=x></iframe>",
    "<object data=x></object>",
    "<form action=/><input></form>",
    "<style>p { background: url(//a.example) }</style>",
    "<style>@import '//a.example';</style>",
    "<style>p { background: u\\\\72l(//a.example) }</style>",
    "<p style='background: URL (//a.example)'>",
    "<svg><image href='//a.example/x.png'/></svg>",
    "<svg><use href='data:image/svg+xml;base64,AA#x'/></svg>",
    "<img src='data:image/svg+xml;base64,AAAA'>",
    "<svg><style><img src=x onerror=1></style></svg>",
    "<p title='",
    "<custom-tag>",
    "<a ping=//a.example href=#x>",
    "<p style='background: u&#114;l(//a.example)'>",
    "<p style='background: image(\"//a.example/x.png\")'>",
    "<svg><rect fill='url(//a.example#x)'/></svg>",
    "<svg><rect mask='url(//a.example#x)'/></svg>",
    "<link rel=preload as=image imagesrcset='//a.example/x.png 1x'>",
    "<a attributionsrc=//a.example>x</a>",
    "<meta charset=iso-2022-jp>",
    "<p>\x1b$B</p>",
    "<!-- 1714557600,48.8566,2.3522 -->",
    "<?xml-stylesheet href='//a.example'?>",
    "<p u01x='1714557600,48.8566,2.3522'>",
]
QUIET = [
    "a < b, and see https://a.example; src = x, onclick = 1, url(x)",
    "<a href='#risk'>risks</a>",
    "<link rel='icon' href='data:,'>",
    "<img src='data:image/png;base64,iVBO+/=' alt='a > b'>",
    "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">",
    "<style>p { color: red; margin: 0 }</style><p style='color: red'>",
]


@pytest.mark.parametrize("part", ACTIVE)
def test_what_runs_or_loads_is_active(part: str) -> None:
    assert is_active(f"<!doctype html><html><body><p>words</p>{part}</body></html>")


@pytest.mark.parametrize("part", QUIET)
def test_words_and_pictures_are_not(part: str) -> None:
    assert not is_active(f"<!doctype html><html><body><p>words</p>{part}</body></html>")


def test_a_page_with_a_script_is_refused_with_its_own_digest(tmp_path: Path) -> None:
    calls = shoal.read(shoal.synthesize(20, 1, 1))
    links = tmp_path / "links.parquet"
    rng = shoal.Randomness.from_system()
    shoal.publish(calls, shoal.Glove(k=2), tmp_path / "out", rng=rng, tries=0, linkage_file=links)
    assert shoal.verify_folder(calls, tmp_path / "out", shoal.read_linkage(links)).holds
    page, manifest = tmp_path / "out" / "report.html", tmp_path / "out" / "manifest.json"
    page.write_text(page.read_text().replace("</body>", "<script src=//a.example></script></body>"))
    digest = json.loads(manifest.read_text())["report_sha256"]
    manifest.write_text(manifest.read_text().replace(digest, sha256_of(page)))
    assert shoal.verify_folder(calls, tmp_path / "out", shoal.read_linkage(links)).kinds == {"active-page"}
