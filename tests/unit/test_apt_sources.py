"""Lists of binary packages, read as lists of their sources."""

from benchmarks.apt_sources import sources_only


def test_stanzas_name_sources() -> None:
    text = "Types: deb\nURIs: file:/archive\n\nTypes: deb deb-src\nURIs: file:/other\n"
    assert sources_only(text, is_one_line=False) == (
        "Types: deb-src\nURIs: file:/archive\n\nTypes: deb-src\nURIs: file:/other\n"
    )


def test_lines_name_sources() -> None:
    text = "# deb of old\ndeb [arch=amd64] file:/archive x main\n deb\tfile:/b y z\n"
    assert sources_only(text, is_one_line=True) == (
        "# deb of old\ndeb-src [arch=amd64] file:/archive x main\n deb-src\tfile:/b y z\n"
    )


def test_lines_of_sources_stay() -> None:
    text = "deb-src file:/archive x main\n"
    assert sources_only(text, is_one_line=True) == text
