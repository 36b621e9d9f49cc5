"""The script that makes the histories of names: what it reads of small packages made for it, laid over each other."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
if not (TOOLS / "apihistory").is_dir():
    pytest.skip("the tools are not part of an installation", allow_module_level=True)
sys.path.insert(0, str(TOOLS))

from apihistory.history import History  # noqa: E402
from apihistory.packages import Library  # noqa: E402
from apihistory.release import read_release  # noqa: E402
from apihistory.sources import _root  # noqa: E402
from apihistory.surface import Surface, outline_of, surface_of  # noqa: E402
from apihistory.tables import members_table, names_table, span_of  # noqa: E402
from packaging.version import Version  # noqa: E402

FOLLOWED = frozenset({"pkg", "other"})

#: two releases of one package: what stands in each file
FIRST = {
    "pkg/__init__.py": "from .core import run\nfrom .old import Old, KeptTrainer\n",
    "pkg/core.py": "def run(model, verbose=False): pass\ndef open_ended(a, **kwargs): pass\n",
    "pkg/old.py": (
        "from dataclasses import dataclass\n"
        "from .core import run\n"
        "class Base:\n    def shared(self): pass\n"
        "class KeptTrainer(Base):\n    def __init__(self): self.size = 1\n    def gone(self): pass\n"
        "class Newer: pass\n"
        "class Old(Newer):\n    def __init__(self):\n        warnings.warn('Old is deprecated')\n"
        "@dataclass\nclass Config:\n    alpha: int\n    beta: int = 1\n"
    ),
    "pkg/gone.py": "import other.inner\ndef lost_function(): pass\n",
}
SECOND = {
    "pkg/__init__.py": "from .core import *\nfrom .old import KeptTrainer\nfrom .elsewhere import Newer\n",
    "pkg/core.py": (
        "__all__ = ['run', 'added']\n"
        "def run(model, level): pass\ndef added(): pass\ndef open_ended(**kwargs): pass\n"
        "def lost_function(): pass\n"
    ),
    "pkg/old.py": (
        "from dataclasses import dataclass\n"
        "class Base:\n    def shared(self): pass\n    def gone_from_kept(self): pass\n"
        "class KeptTrainer(Base):\n    def __init__(self): self.length = 1\n"
        "@dataclass\nclass Config:\n    alpha: int\n    gamma: int = 1\n"
    ),
    "pkg/elsewhere.py": "class Newer: pass\n",
}


def _history(tmp_path: Path, *releases: dict[str, str]) -> History:
    history = History()
    for number, files in enumerate(releases, 1):
        archive = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(archive, "w") as opened:
            for name, text in files.items():
                opened.writestr(name, text)
        release, _ = read_release(archive, Library("pkg", "1"), FOLLOWED, {})
        history.add(f"{number}.0", release)
    return history


def _of_group(group: dict[str, str], place: str) -> dict[str, str]:
    """Names of a place -> their span."""
    parts = (each.split() for each in group.get(place, "").split(";") if each)
    return {name: span for span, *names in parts for name in names}


def test_names_that_came_went_and_moved(tmp_path: Path) -> None:
    table = names_table(Library("pkg", "1"), _history(tmp_path, FIRST, SECOND), {})
    assert table["modules"] == {"0-0": "pkg.gone", "1-": "pkg.elsewhere"}
    assert _of_group(table["names"], "pkg") == {"Old": "0-0", "added": "1-", "Newer": "1-"}
    assert _of_group(table["names"], "pkg.old") == {"Old": "0-0", "Newer": "0-0"}  # `run` was never its own
    assert table["moved"]["pkg"] == "pkg.old:Newer"
    assert table["moved"]["pkg.core"] == "pkg.gone:lost_function"
    assert table["moved_modules"] == {"pkg.gone": "pkg.core"}
    assert table["renamed"] == {"pkg.old:Old": "Newer"}


def test_a_namesake_that_was_there_before_is_no_place_to_move_to(tmp_path: Path) -> None:
    """Of two definitions one goes: the other is another thing, as `numpy.ma.product` is; so is what only raises."""
    other, dummy = "def product(a): pass\n", "class Scorer: pass\n"
    before = {
        "pkg/__init__.py": "from .plain import product\nfrom .search import Scorer\n",
        "pkg/plain.py": "def product(a): pass\n",
        "pkg/search.py": "class Scorer: pass\n",
    }
    always = {"pkg/masked.py": other, "pkg/utils/__init__.py": "", "pkg/utils/dummy_objects.py": dummy}
    after = {"pkg/__init__.py": "", "pkg/plain.py": "", "pkg/search.py": ""}
    table = names_table(Library("pkg", "1"), _history(tmp_path, before | always, after | always), {})
    assert _of_group(table["names"], "pkg") == {"product": "0-0", "Scorer": "0-0"}
    assert table["moved"] == {}


def test_a_name_moved_to_where_it_is_defined_not_to_who_imports_it(tmp_path: Path) -> None:
    before = {"pkg/__init__.py": "class ToldWarning: pass\n"}
    after = {
        "pkg/__init__.py": "",
        "pkg/f.py": "from .told.of import ToldWarning\n",
        "pkg/told/__init__.py": "",
        "pkg/told/of.py": "class ToldWarning: pass\n",
    }
    table = names_table(Library("pkg", "1"), _history(tmp_path, before, after), {})
    assert table["moved"] == {"pkg.told.of": "pkg:ToldWarning"}


def test_of_a_library_with_compiled_names_only_what_went_is_told(tmp_path: Path) -> None:
    history = _history(tmp_path, {"pkg/__init__.py": "Old = 1"}, {"pkg/__init__.py": "New = 1"})
    history.came_with_none()
    assert (history.names["pkg", "Old"], history.names["pkg", "New"]) == (0b01, 0b11)


def test_members_that_came_and_went(tmp_path: Path) -> None:
    table = members_table(Library("pkg", "1"), _history(tmp_path, FIRST, SECOND))
    assert _of_group(table["attributes"], "pkg.old:KeptTrainer") == {"gone": "0-0", "size": "0-0", "length": "1-"}
    assert _of_group(table["attributes"], "pkg.old:Base") == {"gone_from_kept": "1-"}
    assert _of_group(table["parameters"], "pkg.core:run") == {"verbose": "0-0", "level": "1-"}
    assert _of_group(table["parameters"], "pkg.core:open_ended") == {}  # it takes any keyword
    assert _of_group(table["parameters"], "pkg.old:Config.__init__") == {"beta": "0-0", "gamma": "1-"}
    assert _of_group(table["required"], "pkg.core:run") == {"level": "1-"}
    assert table["bases"] == {"Base": "KeptTrainer"}


def test_asks_of_another_library(tmp_path: Path) -> None:
    asker = _history(tmp_path, {"pkg/__init__.py": "from other import thing, kept\nimport other.inner.deep\n"})
    other = History()
    for version, names in (("1", ("thing", "kept")), ("2", ("kept",))):
        modules = {"other": Surface(defined=set(names)), "other.inner": Surface()}
        if version == "1":
            modules["other.inner.deep"] = Surface()
        other.add(version, type(_release(modules))(modules, {"other", "other.inner"}))
    table = names_table(Library("pkg", "1"), asker, {"other": other})
    assert table["asks"] == {"other": "0- thing", "other.inner.deep": "0- ."}


def _release(modules: dict[str, Surface]):  # type: ignore[no-untyped-def]
    from apihistory.release import Release

    return Release(modules, set())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("_import_structure = {'a': ['X'], 'b.c': ['Y']}\n_import_structure['a'].append('Z')", {"X", "Y", "Z", "a"}),
        ("if TYPE_CHECKING:\n    from .a import X\nelse:\n    Y = 1", {"X", "Y"}),
        ("try:\n    import fast\nexcept ImportError:\n    def slow(): pass", {"slow"}),
        ("a, (b, c) = 1, (2, 3)\nd: int = 4", {"a", "b", "c", "d"}),
        ("_CLASSES: dict[str, str] = {'A': 'p.a'}\n__all__ = ['A']\ndef __getattr__(n): pass", {"A", "__getattr__"}),
        ("_SUBMOD_ATTRS = {'_x': ['name']}\ndef __getattr__(n): pass", {"_SUBMOD_ATTRS", "_x", "name", "__getattr__"}),
    ],
)
def test_names_of_a_file(text: str, names: set[str]) -> None:
    found = surface_of(text, "pkg.mod", is_package=False, followed=FOLLOWED)
    assert found is not None
    assert names <= found.defined | set(found.origins) | found.lazy


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("from other.a import b, c as d", {("other.a", "b"), ("other.a", "c")}),
        ("import other.a", {("other.a", "")}),
        ("def f():\n    from other import late", {("other", "late")}),
        ("try:\n    from other import b\nexcept ImportError:\n    from other import c", set()),
        ("if is_version('>=2'):\n    from other import b\nelse:\n    from other import c", set()),
        ("if is_other_available():\n    from other import b", {("other", "b")}),
        ("from pkg import own\nfrom . import mine\nimport json", set()),
    ],
)
def test_what_is_asked(text: str, asks: set[tuple[str, str]]) -> None:
    found = surface_of(text, "pkg.mod", is_package=False, followed=FOLLOWED)
    assert found is not None
    assert found.asks == asks


@pytest.mark.parametrize(
    ("text", "dynamic"),
    [
        ("def __getattr__(name): return 1", True),
        ("__all__ = ['a']\ndef __getattr__(name): return 1", False),
        ("globals().update(x)", True),
        ("globals()['x'] = 1", True),
        ("x = 1", False),
    ],
)
def test_modules_that_may_offer_more(text: str, dynamic: bool) -> None:
    found = surface_of(text, "pkg.mod", is_package=False, followed=FOLLOWED)
    assert found is not None
    assert found.dynamic is dynamic


def test_an_outline_keeps_what_is_offered() -> None:
    text = "import a\n@deco\ndef f(x,\n      y=1):\n    z = 2\n\nclass C(B):  # why\n    def g(self): pass\nD = 1\n"
    whole = surface_of(text, "pkg.mod", is_package=False, followed=FOLLOWED)
    short = surface_of(text, "pkg.mod", is_package=False, followed=FOLLOWED, outline=True)
    assert whole is not None
    assert short is not None
    assert "z = 2" not in outline_of(text)
    assert short.defined == whole.defined == {"f", "C", "D"}
    assert short.functions["f"] == whole.functions["f"]
    assert surface_of("def f(:\n", "pkg.mod", is_package=False, followed=FOLLOWED, outline=True) is None


@pytest.mark.parametrize(("mask", "span"), [(0b0111, "0-2"), (0b1000, "3-"), (0b1011, "0-1,3-"), (0b1111, "0-")])
def test_spans(mask: int, span: str) -> None:
    assert span_of(mask, 4) == span


def test_releases_that_are_read() -> None:
    versions = [Version(each) for each in ("1.0.0", "1.0.1", "1.1.0", "1.1.4", "2.0.0")]
    library = Library("pkg", "1.0.1", every="minor", also=("1.1.0",))
    assert [str(each) for each in library.chosen(versions)] == ["1.0.1", "1.1.0", "1.1.4", "2.0.0"]


@pytest.mark.parametrize(
    ("names", "root"),
    [
        (["pkg/__init__.py", "pkg/a.py"], ""),
        (["pkg-1.0/src/pkg/__init__.py", "pkg-1.0/tests/pkg/x/__init__.py"], "pkg-1.0/src/"),
        (["pkg-1.0/src/pkg/inner/a.py"], "pkg-1.0/src/"),
        (["other/__init__.py"], None),
    ],
)
def test_where_a_package_lies_in_an_archive(names: list[str], root: str | None) -> None:
    assert _root("pkg", names) == root


def test_what_a_release_imports_of_itself_must_be_there(tmp_path: Path) -> None:
    from apihistory.verify import own_imports, wrong_of

    archive = tmp_path / "1.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr(
            "trl/a.py", "from trl import GRPOConfig, SFTConfig\nfrom other import x\n    from trl import late\n"
        )
    assert sorted(own_imports(archive, "trl")) == [("trl", "GRPOConfig"), ("trl", "SFTConfig")]
    assert wrong_of(archive, "trl", "0.13.0") == ["trl.GRPOConfig"]
    assert wrong_of(archive, "trl", "1.0.0") == []


def test_names_of_other_packages_count_as_there(tmp_path: Path) -> None:
    """Moving a helper out to another package, and importing it from there, takes nothing away."""
    first = {"pkg/__init__.py": "", "pkg/a.py": "def helper(): pass\n"}
    second = {"pkg/__init__.py": "", "pkg/a.py": "from other import helper\n"}
    table = names_table(Library("pkg", "1"), _history(tmp_path, first, second), {})
    assert table["names"] == {}


def test_a_compiled_module_is_there_where_its_release_imports_of_it(tmp_path: Path) -> None:
    """A stand-in of Python that gives way to a compiled module takes nothing away."""
    first = {"pkg/__init__.py": "", "pkg/a.py": "from pkg.fast import f\n", "pkg/fast.py": "def f(): pass\n"}
    second = {"pkg/__init__.py": "", "pkg/a.py": "from pkg.fast import f\n"}
    third = {"pkg/__init__.py": "", "pkg/a.py": ""}
    table = names_table(Library("pkg", "1"), _history(tmp_path, first, second), {})
    assert (table["names"], table["modules"]) == ({}, {})
    assert names_table(Library("pkg", "1"), _history(tmp_path, first, third), {})["modules"] == {"0-0": "pkg.fast"}


def test_what_modules_import_from_other_packages_is_held_against_the_histories(tmp_path: Path) -> None:
    from apihistory.verify import re_exported

    archive = tmp_path / "1.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("trl/a/__init__.py", "from other import x, y as z\nfrom trl import own\nfrom . import b\n")
        opened.writestr("trl/c.py", "if True:\n    from other import late\nfrom other.star import *\n")
        opened.writestr("trl/d.py", "no python\n")
    assert sorted(re_exported(archive, "trl")) == [("trl.a", "x"), ("trl.a", "z")]


def test_names_of_other_packages_are_followed_through_stars(tmp_path: Path) -> None:
    """A helper that moves out stays importable from whoever takes all of the module, listed in `__all__` or not."""
    first = {
        "pkg/__init__.py": "from .a import *\nfrom .b import *\n",
        "pkg/a.py": "def helper(): pass\n",
        "pkg/b.py": "__all__ = ['listed']\ndef listed(): pass\ndef hidden(): pass\n",
    }
    second = {
        "pkg/__init__.py": first["pkg/__init__.py"],
        "pkg/a.py": "from other import helper\n",
        "pkg/b.py": "__all__ = ['listed']\nfrom other import listed, hidden\n",
    }
    assert names_table(Library("pkg", "1"), _history(tmp_path, first, second), {})["names"] == {}


def test_a_star_of_a_module_that_offers_anything_tells_nothing(tmp_path: Path) -> None:
    first = {"pkg/__init__.py": "from .a import *\n", "pkg/a.py": "def helper(): pass\n"}
    second = {"pkg/__init__.py": "from .a import *\n", "pkg/a.py": "from other import *\n"}
    assert names_table(Library("pkg", "1"), _history(tmp_path, first, second), {})["names"] == {}


def test_all_modules_that_went_are_listed_by_their_own_names(tmp_path: Path) -> None:
    first = {"pkg/__init__.py": "", "pkg/old/__init__.py": "", "pkg/old/part.py": ""}
    table = names_table(Library("pkg", "1"), _history(tmp_path, first, {"pkg/__init__.py": ""}), {})
    assert table["whole"]
    assert table["modules"] == {"0-0": "pkg.old pkg.old.part"}
